//! The ballot of one judge of a rubric: a mark for each criterion.

use scenario::check::Criterion;
use serde_json::{Map, Value, json};

use crate::{error::Error, question::Form};

/// In ascending order of worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    NotMet,
    Partly,
    Met,
}

impl Mark {
    const ALL: [Self; 3] = [Self::Met, Self::Partly, Self::NotMet];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Partly => "partly met",
            Self::NotMet => "not met",
        }
    }

    pub(super) fn worth(self) -> f64 {
        match self {
            Self::Met => 1.0,
            Self::Partly => 0.5,
            Self::NotMet => 0.0,
        }
    }

    /// As judges write it.
    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Partly => "partly",
            Self::NotMet => "not_met",
        }
    }
}

/// A mark and its reasoning for each criterion, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ballot {
    pub(super) marks: Vec<(Mark, String)>,
}

impl Ballot {
    pub(super) fn read(fields: &Map<String, Value>, count: usize) -> Result<Self, String> {
        let mark = |entry: &Value| {
            let word = entry.get("mark")?.as_str()?;
            let mark = Mark::ALL.into_iter().find(|mark| mark.word() == word)?;
            let reasoning = entry.get("reasoning").and_then(Value::as_str).unwrap_or_default().to_owned();
            Some((mark, reasoning))
        };
        fields
            .get("criteria")
            .and_then(Value::as_array)
            .filter(|entries| entries.len() == count)
            .and_then(|entries| entries.iter().map(mark).collect::<Option<Vec<_>>>())
            .map(|marks| Self { marks })
            .ok_or_else(|| format!("`criteria` does not mark each of the {count} listed"))
    }
}

pub(super) fn question(criteria: &[Criterion]) -> String {
    let mut text = "How well does the agent's work meet each of these criteria? Mark each by itself.".to_owned();
    for (index, Criterion { name, text: meaning, .. }) in criteria.iter().enumerate() {
        text.push_str(&format!("\n{}. {}", index + 1, name.trim()));
        if !meaning.trim().is_empty() {
            text.push_str(&format!(": {}", meaning.trim()));
        }
    }
    text
}

pub(super) fn form(count: usize) -> Result<Form, Error> {
    let entry = json!({
        "type": "object",
        "properties": {
            "mark": { "type": "string", "enum": Mark::ALL.map(Mark::word) },
            "reasoning": { "type": "string" },
        },
        "required": ["mark", "reasoning"],
        "additionalProperties": false,
    });
    let properties = json!({ "criteria": { "type": "array", "items": entry, "minItems": count, "maxItems": count } });
    let meaning = "`criteria` has one entry for each listed criterion, in the order of the list; `mark` is \"met\" where \
        nothing is missing, \"not_met\" where nothing or hardly anything of it is there, else \"partly\"; `reasoning` is \
        one short sentence."
        .to_owned();
    let entries = u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(100);
    Form::of_properties(properties, meaning, entries.saturating_add(200))
}

/// `met 2, not met 1`.
pub(super) fn counted(votes: &[Mark]) -> String {
    let count = |mark: Mark| votes.iter().filter(|vote| **vote == mark).count();
    let parts = Mark::ALL.into_iter().filter(|mark| count(*mark) > 0);
    parts.map(|mark| format!("{} {}", mark.name(), count(mark))).collect::<Vec<_>>().join(", ")
}
