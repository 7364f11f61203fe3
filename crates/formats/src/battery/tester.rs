//! `tester`: who speaks in the turns without a test.

use schemars::JsonSchema;
use serde::Deserialize;

use scenario::{
    battery::Tester,
    conversation::{KnowledgeLevel, Simulator},
    user::{Extras, SelfCheck},
};
use yaml::bounded::{ReplyTokens, Temperature, Words};
use yaml::{Findings, Part};

/// Exactly one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Tester")]
pub(crate) struct TesterDocument {
    /// Sentences, again from the first when they are used up.
    lines: Option<Vec<String>>,
    /// An agent of `gabfest.yaml`; one of kind `interactive` is a person.
    agent: Option<Words>,
    /// A model that plays a person.
    #[serde(rename = "model")]
    #[schemars(with = "Option<ModelDocument>")]
    _model: Option<serde_json::Value>,
}

/// A model that plays a person, and how the person speaks.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TesterModel")]
pub(crate) struct ModelDocument {
    /// The kind of model.
    #[serde(default = "large")]
    model_type: String,
    /// The sampling temperature, 0 to 2.
    #[serde(default = "temperature")]
    #[schemars(extend("default" = 0.7))]
    temperature: Temperature,
    /// The maximum length of a message, 50 to 500 tokens.
    #[serde(default = "max_tokens")]
    #[schemars(extend("default" = 100))]
    max_tokens: ReplyTokens,
    /// Who the person is.
    #[serde(default = "persona")]
    persona: String,
    /// What the person wants.
    #[serde(default = "objective")]
    objective: String,
    /// How the person speaks.
    style: Option<String>,
    /// Rules that the person keeps.
    #[serde(default)]
    constraints: Vec<String>,
    /// The feeling that colours what the person says.
    affect: Option<Affect>,
    /// How strong the feeling is, 0 to 100.
    knob: Option<Knob>,
    /// What the person likes to talk about.
    topic: Option<Topic>,
}

yaml::bounded! {
    /// How strong a feeling is.
    pub(crate) Knob: f64, "number", 0.0 to Some(100.0);
}

/// A feeling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Affect {
    Fear,
    Joy,
    Anger,
    Sadness,
    Anticipation,
    Disgust,
    Surprise,
    Trust,
}

/// A subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Topic {
    Legal,
    Military,
    Monsters,
    Politics,
    PositiveWords,
    Religion,
    Science,
    Space,
    Technology,
}

pub(super) fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Tester> {
    let written = part.decode::<TesterDocument>(findings)?;
    let model = part.get("model").map(|part| part.decode::<ModelDocument>(findings));
    let mut named = Vec::new();
    if let Some(lines) = written.lines {
        if lines.is_empty() || lines.iter().any(|line| line.trim().is_empty()) {
            findings.error(part.spot_of("lines"), "expected at least one line, and none that is blank");
            return None;
        }
        named.push(Tester::Lines(lines));
    }
    named.extend(written.agent.map(|agent| Tester::Agent(agent.0)));
    if let Some(model) = model {
        named.push(Tester::Model(Box::new(model?.into_simulator())));
    }
    if named.len() != 1 {
        findings.error(part.spot(), format!("expected one of `lines`, `agent` and `model`, found {}", named.len()));
        return None;
    }
    named.pop()
}

impl ModelDocument {
    /// Affect, knob and topic were inputs of a specialised model once; a general model follows them as instructions.
    fn into_simulator(self) -> Simulator {
        let feeling = self.affect.map(|affect| {
            let strength = match self.knob.map_or(100.0, |knob| knob.0) {
                strong if strong > 75.0 => "very strong",
                strong if strong > 50.0 => "strong",
                weak if weak > 25.0 => "moderate",
                weak if weak > 0.0 => "slight",
                _ => "barely noticeable",
            };
            format!("{strength} {}", affect.name())
        });
        let mut constraints = self.constraints;
        constraints.extend(self.topic.map(|topic| format!("bring the talk to {} where you can", topic.name())));
        Simulator {
            model_type: self.model_type,
            temperature: self.temperature.0,
            max_tokens: self.max_tokens.0,
            persona: self.persona,
            objective: self.objective,
            style: self.style.or_else(|| Some("casual small talk in one or two short sentences".to_owned())),
            constraints,
            emotional_state: feeling,
            knowledge_level: KnowledgeLevel::default(),
            // A battery has its own examination.
            extras: Extras { self_check: Some(SelfCheck::Off), ..Extras::default() },
        }
    }
}

impl Affect {
    fn name(self) -> &'static str {
        match self {
            Self::Fear => "fear",
            Self::Joy => "joy",
            Self::Anger => "anger",
            Self::Sadness => "sadness",
            Self::Anticipation => "anticipation",
            Self::Disgust => "disgust",
            Self::Surprise => "surprise",
            Self::Trust => "trust",
        }
    }
}

impl Topic {
    fn name(self) -> &'static str {
        match self {
            Self::Legal => "law",
            Self::Military => "the military",
            Self::Monsters => "monsters",
            Self::Politics => "politics",
            Self::PositiveWords => "what is good and pleasant",
            Self::Religion => "religion",
            Self::Science => "science",
            Self::Space => "space",
            Self::Technology => "technology",
        }
    }
}

fn large() -> String {
    "TEXT_LARGE".to_owned()
}

fn temperature() -> Temperature {
    Temperature(0.7)
}

fn max_tokens() -> ReplyTokens {
    ReplyTokens(100)
}

fn persona() -> String {
    "a friendly person who likes to chat".to_owned()
}

fn objective() -> String {
    "have a pleasant conversation".to_owned()
}
