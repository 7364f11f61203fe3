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
/// How much of a judge's reasoning is kept.
const REASONING_CHARACTERS: usize = 1_200;
/// See [`Verdict::Millionths`].
const MILLION: f64 = 1e6;

/// The possible verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale<'a> {
    /// The answer to a question.
    YesNo,
    /// The same for a caller with a threshold: an unsure yes is below it and contradicts nothing.
    Sureness,
    /// The answer to an open question, in a few words.
    Words,
    /// A number from 0 to 1.
    Share,
    /// How well a criterion is met.
    Marks,
    /// A number, and the meaning of each number.
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
    /// A number from 0 to 1, times a million.
    Millionths(i64),
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
            Self::YesNo | Self::Sureness | Self::Words => "judgment",
            Self::Marks | Self::Points(_) | Self::Share => "verdict",
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::YesNo | Self::Sureness => {
                json!({ "type": "string", "enum": ["yes", "no", "not_applicable", "cannot_tell"] })
            }
            Self::Words => json!({ "type": "string", "minLength": 1 }),
            Self::Marks => {
                json!({ "type": "string", "enum": ["met", "partly", "not_met", "not_applicable", "cannot_tell"] })
            }
            Self::Points(anchors) => {
                let points = anchors.keys().map(|point| json!(point));
                json!({ "enum": points.chain([json!("not_applicable"), json!("cannot_tell")]).collect::<Vec<_>>() })
            }
            Self::Share => json!({ "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "enum": ["not_applicable", "cannot_tell"] },
            ] }),
        }
    }

    fn meaning(self) -> String {
        const OTHER: &str = "\"not_applicable\" if the question is about something that does not occur in the material, \
            \"cannot_tell\" if the material holds no evidence for either answer";
        match self {
            Self::YesNo | Self::Sureness => format!(
                "`judgment` is \"yes\" or \"no\", the answer to the question (if it is a task to assess rather than a \
                 question, \"yes\" means that the agent did it well), {OTHER}"
            ),
            Self::Words => format!("`judgment` is your answer to the question in a few words, {OTHER}"),
            Self::Share => format!("`verdict` is the number asked for, from 0 to 1, {OTHER}"),
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
        if let (Self::Share, Some(number)) = (self, value.as_f64()) {
            return (0.0..=1.0).contains(&number).then(|| Verdict::Millionths((number * MILLION).round() as i64));
        }
        let word = value.as_str()?.trim();
        match (self, word) {
            (_, "not_applicable") => Some(Verdict::NotApplicable),
            (_, "cannot_tell") => Some(Verdict::CannotTell),
            (Self::Words, "") => None,
            (Self::Words, words) => Some(Verdict::Words(words.to_owned())),
            (Self::YesNo | Self::Sureness, "yes") | (Self::Marks, "met") => Some(Verdict::Met),
            (Self::YesNo | Self::Sureness, "no") | (Self::Marks, "not_met") => Some(Verdict::NotMet),
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
            Self::Millionths(millionths) => (*millionths as f64 / MILLION).to_string(),
            Self::Words(words) => words.clone(),
        }
    }

    /// As the judge of a question says it.
    pub(crate) fn answer(&self) -> String {
        match self {
            Self::Met => "yes".to_owned(),
            Self::NotMet => "no".to_owned(),
            other => other.name(),
        }
    }

    /// What votes are counted by: all numbers are one kind of answer.
    pub(crate) fn kind(&self) -> Self {
        match self {
            Self::Point(_) => Self::Point(0),
            Self::Millionths(_) => Self::Millionths(0),
            other => other.clone(),
        }
    }

    /// Whether a verdict like this needs a quote.
    fn needs_quote(&self, evidence: Evidence) -> bool {
        match self {
            Self::Met => matches!(evidence, Evidence::Met | Evidence::Both),
            Self::NotMet => matches!(evidence, Evidence::NotMet | Evidence::Both),
            Self::Partly => !matches!(evidence, Evidence::Given | Evidence::None),
            Self::Point(_) | Self::Millionths(_) | Self::Words(_) => evidence == Evidence::Both,
            Self::NotApplicable | Self::CannotTell => false,
        }
    }
}

/// The form of one ballot.
pub(crate) fn form(scale: Scale<'_>, judging: &Judging) -> Result<Form, Error> {
    form_with(scale, judging, None)
}

/// A field that a form has beside those of its ballot.
pub(crate) struct Beside {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    pub(crate) meaning: &'static str,
    pub(crate) tokens: u32,
}

/// The form of one ballot, and perhaps one more field before it.
pub(crate) fn form_with(scale: Scale<'_>, judging: &Judging, beside: Option<Beside>) -> Result<Form, Error> {
    let quoted = if judging.evidence == Evidence::None { 0 } else { MOST_QUOTES };
    let tokens = TOKENS + quoted * TOKENS_OF_QUOTE;
    let (ballot, meaning) = (properties(scale, judging), meaning(scale, judging));
    let Some(Beside { name, schema, meaning: of_field, tokens: more }) = beside else {
        return Form::of_properties(Value::Object(ballot), meaning, tokens);
    };
    let properties = [(name.to_owned(), schema)].into_iter().chain(ballot).collect();
    Form::of_properties(Value::Object(properties), format!("{of_field}; {meaning}"), tokens.saturating_add(more))
}

/// The form of several ballots in one answer, under the key `criteria`.
pub(crate) fn form_of_many(count: usize, judging: &Judging) -> Result<Form, Error> {
    let list = entries(count, Scale::Marks, judging);
    let meaning = format!(
        "`criteria` has one entry for each listed criterion, in the order of the list. In each: {}",
        meaning(Scale::Marks, judging)
    );
    let entries = u32::try_from(count).unwrap_or(u32::MAX);
    Form::of_properties(json!({ "criteria": list }), meaning, entries.saturating_mul(TOKENS + TOKENS_OF_QUOTE))
}

/// The schema of a list with `count` ballots.
pub(crate) fn entries(count: usize, scale: Scale<'_>, judging: &Judging) -> Value {
    let entry = object(Value::Object(properties(scale, judging)));
    json!({ "type": "array", "items": entry, "minItems": count, "maxItems": count })
}

/// Reads the list of `count` ballots under `key`.
pub(crate) fn read_entries(
    fields: &Map<String, Value>,
    key: &str,
    count: usize,
    scale: Scale<'_>,
    judging: &Judging,
    material: &Material,
) -> Result<Vec<Ballot>, Fault> {
    let entries = fields.get(key).and_then(Value::as_array).filter(|entries| entries.len() == count);
    let entries = entries.ok_or_else(|| format!("`{key}` does not judge each of the {count} listed"))?;
    let one = |entry: &Value| match entry.as_object() {
        Some(fields) => Ballot::read(fields, scale, judging, material),
        None => Err(Fault::Form(format!("an entry of `{key}` is not an object"))),
    };
    entries.iter().map(one).collect()
}

fn properties(scale: Scale<'_>, judging: &Judging) -> Map<String, Value> {
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
    ordered.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
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
        if confidence < 0.5 && scale != Scale::Sureness {
            return Err(Fault::Form(super::contradiction(&verdict.name(), confidence)));
        }
        let reasoning = fields.get("reasoning").and_then(Value::as_str).unwrap_or_default().trim();
        if reasoning.is_empty() {
            return Err(Fault::Form("there is no `reasoning`".to_owned()));
        }
        let reasoning = reasoning.chars().take(REASONING_CHARACTERS).collect();
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

    /// 0 to 1, if the verdict is such a number.
    pub(crate) fn share(&self) -> Option<f64> {
        match self.verdict {
            Verdict::Millionths(millionths) => Some(millionths as f64 / MILLION),
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
