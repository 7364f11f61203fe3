//! One sheet with the question and all capabilities, or with the fields of the author's own schema.

use scenario::check::{Expected, JudgeRule};
use serde_json::{Map, Value, json};

use crate::{
    error::Error,
    question::{self, CONFIDENCE, Form, Verdict, number_of, reasoning_of},
};

/// A reply that fits the form and holds what the check needs.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capability {
    pub(super) achieved: bool,
    pub(super) reasoning: String,
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

/// The schema of the check if it has one.
pub(super) fn form(rule: &JudgeRule) -> Result<Form, Error> {
    let count = rule.capabilities.len();
    let mut meaning = "`reasoning` is one to four sentences; ".to_owned();
    if count > 0 {
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
    if let Some(schema) = &rule.json_schema {
        return Form::new(schema.clone(), format!("Where the schema has these fields: {meaning}"), 1_000);
    }
    let mut properties = Map::new();
    properties.insert("reasoning".to_owned(), json!({ "type": "string" }));
    let entry = json!({
        "type": "object",
        "properties": { "reasoning": { "type": "string" }, "achieved": { "type": "boolean" } },
        "required": ["reasoning", "achieved"],
        "additionalProperties": false,
    });
    let capabilities = json!({ "type": "array", "items": entry, "minItems": count, "maxItems": count });
    properties.insert("capabilities".to_owned(), capabilities);
    let judgment = match &rule.expected {
        Expected::Says(_) => json!({ "type": "string", "minLength": 1 }),
        _ => json!({ "type": "string", "enum": ["yes", "no"] }),
    };
    properties.insert("judgment".to_owned(), judgment);
    let confidence = json!({ "type": "number", "minimum": 0, "maximum": 1, "description": CONFIDENCE });
    properties.insert("confidence".to_owned(), confidence);
    let entries = u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(100);
    Form::of_properties(Value::Object(properties), meaning, entries.saturating_add(800))
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
            reasoning: reasoning_of(&fields),
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

fn capabilities_of(fields: &Map<String, Value>, count: usize) -> Result<Vec<Capability>, String> {
    let Some(entries) = fields.get("capabilities").filter(|_| count > 0) else { return Ok(Vec::new()) };
    let read = |entry: &Value| {
        let achieved = entry.get("achieved")?.as_bool()?;
        let reasoning = entry.get("reasoning").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Capability { achieved, reasoning })
    };
    entries
        .as_array()
        .filter(|entries| entries.len() == count)
        .and_then(|entries| entries.iter().map(read).collect())
        .ok_or_else(|| format!("`capabilities` does not judge each of the {count} listed"))
}
