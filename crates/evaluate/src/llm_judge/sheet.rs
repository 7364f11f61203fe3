//! One sheet with the question and all capabilities, and a reply in the author's own schema.

use scenario::check::{Expected, JudgeRule, Judging};
use serde_json::{Map, Value};

use super::capability::Capability;
use crate::{
    error::Error,
    question::{self, Beside, Form, Open, Scale, Verdict, entries, form_with, number_of, reasoning_of},
};

/// The meaning of `confidence` beside a judgment. Models report how sure they are of their answer, also of a no.
const CONFIDENCE: &str = "how sure you are of this judgment, from 0.5 (it could be otherwise) to 1 (certain)";
/// Of the answer about one capability, with a quote.
const CAPABILITY_TOKENS: u32 = 400;
/// The field of the answers about capabilities.
pub(super) const CAPABILITIES: &str = "capabilities";

/// A reply that fits the author's schema and has everything that the check needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sheet {
    /// Empty if the schema of the check has no such field.
    pub(super) judgment: String,
    pub(super) confidence: Option<f64>,
    /// One for each listed capability; none if the schema of the check does not ask for them.
    pub(super) capabilities: Vec<Capability>,
    pub(super) reasoning: String,
    pub(super) raw: String,
}

/// The author's question, then the checklist in order.
pub(super) fn question(rule: &JudgeRule) -> String {
    let mut text = rule.prompt.trim().to_owned();
    if !rule.capabilities.is_empty() {
        text.push_str("\nCapabilities to judge besides, each by itself:");
        for (index, capability) in rule.capabilities.iter().enumerate() {
            text.push_str(&format!("\n{}. {capability}", index + 1));
        }
    }
    text
}

/// The form with a ballot, and another for each capability.
pub(super) fn form(rule: &JudgeRule, scale: Scale<'_>, judging: &Judging) -> Result<Form, Error> {
    let count = rule.capabilities.len();
    let capabilities = Beside {
        name: CAPABILITIES,
        schema: entries(count, Scale::YesNo, judging),
        meaning: "`capabilities` has one entry for each listed capability, in the order of the list, whose `judgment` says \
                  whether the agent's work shows it",
        tokens: u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(CAPABILITY_TOKENS),
    };
    form_with(scale, judging, Some(capabilities))
}

/// The form with the author's schema.
pub(super) fn form_of_schema(rule: &JudgeRule, schema: &Value) -> Result<Form, Error> {
    let mut meaning = "Where the schema has these fields: `reasoning` is one to four sentences; ".to_owned();
    if !rule.capabilities.is_empty() {
        meaning.push_str("`capabilities` has one entry for each listed capability, in the order of the list; ");
    }
    meaning.push_str(match &rule.expected {
        Expected::Says(_) => "`judgment` is your answer to the question in a few words",
        _ => {
            "`judgment` is \"yes\" or \"no\", the answer to the question; if it is a task to assess rather than a \
             question, \"yes\" means that the agent did it well"
        }
    });
    meaning.push_str(&format!("; `confidence` is {CONFIDENCE}."));
    Form::new(schema.clone(), meaning, 1_000)
}

impl Sheet {
    /// Requires what `expected` needs, in range. Other fields may be absent if the schema allows.
    pub(super) fn read(fields: Map<String, Value>, expected: &Expected, capabilities: usize) -> Result<Self, String> {
        let judgment = match fields.get("judgment") {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
            Some(_) => return Err("`judgment` is neither text nor a truth value".to_owned()),
            None => String::new(),
        };
        let confidence = match fields.get("confidence") {
            Some(_) => Some(number_of(&fields, "confidence")?),
            None => None,
        };
        let sheet = Self {
            judgment,
            confidence,
            capabilities: capabilities_of(&fields, capabilities)?,
            reasoning: reasoning_of(&fields)?,
            raw: Value::Object(fields).to_string(),
        };
        sheet.suits(expected)?;
        Ok(sheet)
    }

    fn says(&self, word: &str) -> bool {
        self.judgment.eq_ignore_ascii_case(word)
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.judgment.to_lowercase().as_str() {
            "yes" => Verdict::Met,
            "no" => Verdict::NotMet,
            "not_applicable" => Verdict::NotApplicable,
            "cannot_tell" => Verdict::CannotTell,
            _ => Verdict::Words(self.judgment.clone()),
        }
    }

    /// How probable a yes is. Without a judgment, the confidence is this probability itself.
    pub(super) fn probability(&self) -> Option<f64> {
        let confidence = self.confidence?;
        Some(if self.says("no") { question::complement(confidence) } else { confidence })
    }

    fn suits(&self, expected: &Expected) -> Result<(), String> {
        let (yes, no) = (self.says("yes"), self.says("no"));
        let open = matches!(self.verdict(), Verdict::NotApplicable | Verdict::CannotTell);
        match (expected, self.confidence) {
            (Expected::Yes | Expected::No, _) if !yes && !no && !open => {
                Err("`judgment` is neither yes nor no".to_owned())
            }
            (Expected::Says(_), _) if self.judgment.is_empty() => Err("there is no `judgment`".to_owned()),
            (Expected::Says(_), _) => Ok(()),
            (_, Some(confidence)) if (yes || no) && confidence < 0.5 => {
                Err(question::contradiction(&self.judgment, confidence))
            }
            (Expected::Yes | Expected::No, _) => Ok(()),
            (_, None) => Err("there is no `confidence`".to_owned()),
            (_, Some(_)) => Ok(()),
        }
    }
}

/// One for each listed capability; none if the reply has no such field.
fn capabilities_of(fields: &Map<String, Value>, count: usize) -> Result<Vec<Capability>, String> {
    let Some(entries) = fields.get(CAPABILITIES).filter(|_| count > 0) else { return Ok(Vec::new()) };
    let none = || format!("`capabilities` does not judge each of the {count} listed");
    let entries = entries.as_array().filter(|entries| entries.len() == count).ok_or_else(none)?;
    let read = |entry: &Value| {
        let fields = entry.as_object().ok_or_else(none)?;
        let achieved = fields.get("achieved").and_then(achieved_of).ok_or_else(none)?;
        Ok(Capability { achieved, reasoning: reasoning_of(fields)? })
    };
    entries.iter().map(read).collect()
}

fn achieved_of(value: &Value) -> Option<Result<bool, Open>> {
    match (value.as_bool(), value.as_str()) {
        (Some(achieved), _) => Some(Ok(achieved)),
        (_, Some("not_applicable")) => Some(Err(Open::NotApplicable)),
        (_, Some("cannot_tell")) => Some(Err(Open::CannotTell)),
        _ => None,
    }
}
