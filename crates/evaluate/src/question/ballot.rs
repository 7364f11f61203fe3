//! The answer of one judge: reasoning, quotes, a verdict, and how sure the judge is of it.

use scenario::check::{Evidence, JudgeForm, Judging};
use serde_json::{Map, Value, json};

use super::{
    error::Fault,
    form::{Form, object},
    material::Material,
    quotes::{self, Quote},
};
use crate::{
    error::Error,
    excerpt::{SHORT_BYTES, excerpt},
};

/// Visible tokens of an answer without quotes.
const TOKENS: u32 = 800;
/// Visible tokens of one quote.
const TOKENS_OF_QUOTE: u32 = 150;
const MOST_QUOTES: u32 = 3;
/// What is kept of a judge's reasoning.
const REASONING_CHARACTERS: usize = 1_200;

/// What a verdict can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale<'a> {
    /// The answer to a question.
    YesNo,
    /// The answer to an open question, in a few words.
    Words,
    /// How well a criterion is met.
    Marks,
    /// A number, and what each number means.
    Points(&'a std::collections::BTreeMap<i64, String>),
}

/// A verdict. `Met` is also a yes, and `NotMet` a no.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Met,
    Partly,
    NotMet,
    NotApplicable,
    CannotTell,
    Point(i64),
    Words(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ballot {
    pub(crate) verdict: Verdict,
    /// 0.5 to 1: how sure the judge is of its verdict.
    pub(crate) confidence: f64,
    pub(crate) reasoning: String,
    pub(crate) quotes: Vec<Quote>,
}

impl Scale<'_> {
    /// The name of the field. ElizaOS calls the answer to a question a judgment.
    fn field(self) -> &'static str {
        match self {
            Self::YesNo | Self::Words => "judgment",
            Self::Marks | Self::Points(_) => "verdict",
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::YesNo => json!({ "type": "string", "enum": ["yes", "no", "not_applicable", "cannot_tell"] }),
            Self::Words => json!({ "type": "string", "minLength": 1 }),
            Self::Marks => {
                json!({ "type": "string", "enum": ["met", "partly", "not_met", "not_applicable", "cannot_tell"] })
            }
            Self::Points(anchors) => {
                let points = anchors.keys().map(|point| json!(point));
                json!({ "enum": points.chain([json!("not_applicable"), json!("cannot_tell")]).collect::<Vec<_>>() })
            }
        }
    }

    fn meaning(self) -> String {
        const OTHER: &str = "\"not_applicable\" if the question is about something that does not occur in the material, \
            \"cannot_tell\" if the material holds no evidence for either answer";
        match self {
            Self::YesNo => format!(
                "`judgment` is \"yes\" or \"no\", the answer to the question (if it is a task to assess rather than a \
                 question, \"yes\" means that the agent did it well), {OTHER}"
            ),
            Self::Words => "`judgment` is your answer to the question in a few words".to_owned(),
            Self::Marks => format!(
                "`verdict` is \"met\" where nothing is missing, \"not_met\" where nothing or hardly anything of it is \
                 there, \"partly\" between the two, {OTHER}"
            ),
            Self::Points(anchors) => {
                let points: Vec<String> = anchors.iter().map(|(point, text)| format!("{point}: {text}")).collect();
                format!("`verdict` is the number whose description fits best ({}), {OTHER}", points.join("; "))
            }
        }
    }

    fn read(self, value: &Value) -> Option<Verdict> {
        if let (Self::Points(anchors), Some(point)) = (self, value.as_i64()) {
            return anchors.contains_key(&point).then_some(Verdict::Point(point));
        }
        let word = value.as_str()?.trim();
        match (self, word) {
            (Self::Words, "") => None,
            (Self::Words, words) => Some(Verdict::Words(words.to_owned())),
            (_, "not_applicable") => Some(Verdict::NotApplicable),
            (_, "cannot_tell") => Some(Verdict::CannotTell),
            (Self::YesNo, "yes") | (Self::Marks, "met") => Some(Verdict::Met),
            (Self::YesNo, "no") | (Self::Marks, "not_met") => Some(Verdict::NotMet),
            (Self::Marks, "partly") => Some(Verdict::Partly),
            _ => None,
        }
    }
}

impl Verdict {
    /// As reports write it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Met => "met".to_owned(),
            Self::Partly => "partly met".to_owned(),
            Self::NotMet => "not met".to_owned(),
            Self::NotApplicable => "not applicable".to_owned(),
            Self::CannotTell => "cannot tell".to_owned(),
            Self::Point(point) => point.to_string(),
            Self::Words(words) => words.clone(),
        }
    }

    /// Whether a verdict like this needs a quote.
    fn needs_quote(&self, evidence: Evidence) -> bool {
        match self {
            Self::Met => matches!(evidence, Evidence::Met | Evidence::Both),
            Self::NotMet => matches!(evidence, Evidence::NotMet | Evidence::Both),
            Self::Partly => !matches!(evidence, Evidence::Given | Evidence::None),
            Self::Point(_) | Self::Words(_) => evidence == Evidence::Both,
            Self::NotApplicable | Self::CannotTell => false,
        }
    }
}

/// The form of one ballot.
pub(crate) fn form(scale: Scale<'_>, judging: &Judging) -> Result<Form, Error> {
    let quoted = if judging.evidence == Evidence::None { 0 } else { MOST_QUOTES };
    Form::of_properties(properties(scale, judging), meaning(scale, judging), TOKENS + quoted * TOKENS_OF_QUOTE)
}

/// The form of several ballots in one answer, under the key `criteria`.
pub(crate) fn form_of_many(count: usize, judging: &Judging) -> Result<Form, Error> {
    let entry = object(properties(Scale::Marks, judging));
    let list = json!({ "type": "array", "items": entry, "minItems": count, "maxItems": count });
    let meaning = format!(
        "`criteria` has one entry for each listed criterion, in the order of the list. In each: {}",
        meaning(Scale::Marks, judging)
    );
    let entries = u32::try_from(count).unwrap_or(u32::MAX);
    Form::of_properties(json!({ "criteria": list }), meaning, entries.saturating_mul(TOKENS + TOKENS_OF_QUOTE))
}

fn properties(scale: Scale<'_>, judging: &Judging) -> Value {
    let reasoning = ("reasoning", json!({ "type": "string" }));
    let quote = json!({
        "turn": { "type": "integer" },
        "who": { "type": "string", "enum": ["user", "agent", "tool"] },
        "text": { "type": "string" },
    });
    let quotes = ("quotes", json!({ "type": "array", "items": object(quote), "maxItems": MOST_QUOTES }));
    let quotes = (judging.evidence != Evidence::None).then_some(quotes);
    let verdict = (scale.field(), scale.schema());
    let confidence = ("confidence", json!({ "type": "number", "minimum": 0, "maximum": 1 }));
    let ordered: Vec<(&str, Value)> = match judging.form {
        JudgeForm::ReasonFirst => [reasoning].into_iter().chain(quotes).chain([verdict, confidence]).collect(),
        JudgeForm::VerdictFirst => [verdict, confidence].into_iter().chain(quotes).chain([reasoning]).collect(),
    };
    Value::Object(ordered.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect())
}

fn meaning(scale: Scale<'_>, judging: &Judging) -> String {
    let mut text = "`reasoning` weighs the evidence in one to four sentences; ".to_owned();
    if judging.evidence != Evidence::None {
        text.push_str(
            "`quotes` lists the words that decide it, copied word for word from the material in their own language, \
             with the number of the turn and who said them (an empty list if no words decide it); ",
        );
    }
    text.push_str(&scale.meaning());
    text.push_str(&format!(
        "; `confidence` is how sure you are of this `{}`, from 0.5 (it could be otherwise) to 1 (certain).",
        scale.field()
    ));
    text
}

impl Ballot {
    /// Reads one ballot from the fields of a form, and verifies its quotes.
    pub(crate) fn read(
        fields: &Map<String, Value>,
        scale: Scale<'_>,
        judging: &Judging,
        material: &Material,
    ) -> Result<Self, Fault> {
        let name = scale.field();
        let verdict = fields.get(name).and_then(|value| scale.read(value));
        let verdict = verdict.ok_or_else(|| format!("`{name}` is none of the allowed words"))?;
        let confidence = super::number_of(fields, "confidence")?;
        if confidence < 0.5 {
            return Err(Fault::Form(super::contradiction(&verdict.name(), confidence)));
        }
        let reasoning = match fields.get("reasoning").and_then(Value::as_str) {
            Some(text) => text.chars().take(REASONING_CHARACTERS).collect(),
            None => return Err(Fault::Form("there is no `reasoning`".to_owned())),
        };
        let quotes = match fields.get("quotes") {
            None if judging.evidence == Evidence::None => Vec::new(),
            Some(Value::Array(quotes)) => quotes::verified(quotes, material)?,
            _ => return Err(Fault::Form("there are no `quotes`".to_owned())),
        };
        if quotes.is_empty() && verdict.needs_quote(judging.evidence) {
            return Err(Fault::Evidence(format!("the verdict {:?} has no quote", verdict.name())));
        }
        Ok(Self { verdict, confidence, reasoning, quotes })
    }

    /// 0 to 1: how probable it is that the answer is yes.
    pub(crate) fn probability(&self) -> Option<f64> {
        match self.verdict {
            Verdict::Met => Some(self.confidence),
            Verdict::NotMet => Some(super::complement(self.confidence)),
            _ => None,
        }
    }

    /// The reasoning and the quotes, for a report.
    pub(crate) fn shown(&self) -> String {
        let mut text = excerpt(&self.reasoning, 8 * SHORT_BYTES).into_owned();
        for quote in &self.quotes {
            text.push_str(&format!(
                " [turn {}, {}: {:?}]",
                quote.turn,
                quote.who,
                excerpt(&quote.text, 2 * SHORT_BYTES)
            ));
        }
        text
    }
}
