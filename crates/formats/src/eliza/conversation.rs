//! `conversation`: the simulated user, when it is over, and what is judged on the way.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::check::{self, Evaluation};
use scenario::{
    Conversation,
    conversation::{Condition, DebugOptions, KnowledgeLevel, Simulator, Stop, StopJudge},
};
use yaml::bounded::{ReplyTokens, Share, Temperature, TotalMillis, TurnMillis, Turns};
use yaml::{Findings, Part};

/// A conversation between a simulated user and the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Conversation")]
pub(crate) struct ConversationDocument {
    /// The most exchanges, 2 to 20.
    max_turns: Turns,
    /// How long one exchange may take, in milliseconds.
    #[serde(default = "turn_timeout")]
    #[schemars(extend("default" = 30_000))]
    timeout_per_turn_ms: TurnMillis,
    /// How long the agent may take for the whole conversation, in milliseconds: its replies and its tools. The simulated
    /// user, judges, waits for permits and repeated tries do not count.
    #[serde(default = "total_timeout")]
    #[schemars(extend("default" = 300_000))]
    total_timeout_ms: TotalMillis,
    /// Who the simulated user is.
    user_simulator: SimulatorDocument,
    /// Asked in this order after each exchange; the first that holds ends the conversation.
    #[serde(default, rename = "termination_conditions")]
    #[schemars(with = "Vec<StopDocument>")]
    _termination_conditions: Vec<Value>,
    /// Judged after each reply of the agent.
    #[serde(default, rename = "turn_evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _turn_evaluations: Vec<Value>,
    /// Judged when the conversation is over.
    #[serde(default, rename = "final_evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _final_evaluations: Vec<Value>,
    /// What is kept for whoever wrote the scenario.
    #[serde(default)]
    debug_options: DebugDocument,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UserSimulator")]
pub(crate) struct SimulatorDocument {
    /// The kind of model that plays the user.
    #[serde(default = "large")]
    model_type: String,
    /// How freely it writes, 0 to 2.
    #[serde(default = "temperature")]
    #[schemars(extend("default" = 0.7))]
    temperature: Temperature,
    /// The longest line, 50 to 500 tokens.
    #[serde(default = "max_tokens")]
    #[schemars(extend("default" = 200))]
    max_tokens: ReplyTokens,
    /// Who the user is.
    persona: String,
    /// What the user wants.
    objective: String,
    /// How the user speaks.
    style: Option<String>,
    /// Rules that the user keeps.
    #[serde(default)]
    constraints: Vec<String>,
    /// How the user feels.
    emotional_state: Option<String>,
    /// What the user knows of the matter.
    #[serde(default)]
    #[schemars(extend("default" = "intermediate"))]
    knowledge_level: KnowledgeLevel,
}

/// A condition that ends the conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationCondition")]
pub(crate) struct StopDocument {
    /// What is looked for.
    #[serde(rename = "type")]
    condition: Condition,
    /// Words for people.
    description: Option<String>,
    /// Looked for instead of the condition's own list.
    keywords: Option<Vec<String>>,
    /// A question to a language model that decides instead.
    llm_judge: Option<StopJudgeDocument>,
    /// What only gabfest knows.
    gabfest: Option<StopOursDocument>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationJudge")]
pub(crate) struct StopJudgeDocument {
    /// The question.
    prompt: String,
    /// How sure the judge must be, 0 to 1.
    #[serde(default = "threshold")]
    #[schemars(extend("default" = 0.8))]
    threshold: Share,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationExtras")]
pub(crate) struct StopOursDocument {
    /// The name of an HTTP hook of `gabfest.yaml` that decides instead.
    hook: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DebugOptions")]
#[serde(default)]
pub(crate) struct DebugDocument {
    /// Keep each prompt of the simulator and its raw answer.
    log_user_simulation: bool,
    /// Keep what each termination condition answered.
    log_turn_decisions: bool,
    /// Keep the whole transcript of passing trials too.
    export_full_transcript: bool,
}

/// The conversation without its opening line, which is the step's input.
pub(super) fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Conversation> {
    let written = part.decode::<ConversationDocument>(findings);
    let stops = part.items_of("termination_conditions");
    let stops = stops.iter().filter_map(|stop| read_stop(stop, findings)).collect();
    let turn_checks = check::read_all(&part.items_of("turn_evaluations"), findings);
    let final_checks = check::read_all(&part.items_of("final_evaluations"), findings);
    let written = written?;
    Some(Conversation {
        opening_line: String::new(),
        max_turns: written.max_turns.0,
        turn_timeout_ms: written.timeout_per_turn_ms.0,
        total_timeout_ms: written.total_timeout_ms.0,
        simulator: written.user_simulator.into_simulator(),
        stops,
        turn_checks,
        final_checks,
        debug: DebugOptions {
            log_user_simulation: written.debug_options.log_user_simulation,
            log_turn_decisions: written.debug_options.log_turn_decisions,
            export_full_transcript: written.debug_options.export_full_transcript,
        },
    })
}

fn read_stop(part: &Part<'_>, findings: &mut Findings) -> Option<Stop> {
    let written = part.decode::<StopDocument>(findings)?;
    let stop = Stop {
        condition: written.condition,
        description: written.description,
        keywords: written.keywords,
        judge: written.llm_judge.map(|judge| StopJudge { prompt: judge.prompt, threshold: judge.threshold.0 }),
        hook: written.gabfest.map(|ours| ours.hook),
    };
    if stop.condition == Condition::CustomCondition && stop.judge.is_none() && stop.hook.is_none() {
        findings.warning(part.spot(), "`custom_condition` never holds: nothing decides it");
        findings.help("add `llm_judge: {prompt: …}`, or `gabfest: {hook: NAME}`");
    }
    Some(stop)
}

impl SimulatorDocument {
    fn into_simulator(self) -> Simulator {
        Simulator {
            model_type: self.model_type,
            temperature: self.temperature.0,
            max_tokens: self.max_tokens.0,
            persona: self.persona,
            objective: self.objective,
            style: self.style,
            constraints: self.constraints,
            emotional_state: self.emotional_state,
            knowledge_level: self.knowledge_level,
        }
    }
}

impl Default for DebugDocument {
    fn default() -> Self {
        let usual = DebugOptions::default();
        Self {
            log_user_simulation: usual.log_user_simulation,
            log_turn_decisions: usual.log_turn_decisions,
            export_full_transcript: usual.export_full_transcript,
        }
    }
}

fn turn_timeout() -> TurnMillis {
    TurnMillis(30_000)
}

fn total_timeout() -> TotalMillis {
    TotalMillis(300_000)
}

fn large() -> String {
    "TEXT_LARGE".to_owned()
}

fn temperature() -> Temperature {
    Temperature(0.7)
}

fn max_tokens() -> ReplyTokens {
    ReplyTokens(200)
}

fn threshold() -> Share {
    Share(0.8)
}
