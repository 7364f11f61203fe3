//! The keys of every kind: `type`, `name`, `turn`, `negate`, `weight` and `required`. Kinds that ask a judge also have
//! the keys of [`judging`].

use schemars::{JsonSchema, Schema};
use serde_json::Value;
use yaml::{Findings, Part, bounded::Weight, suggest};

use super::{Check, judging};

/// The keys that are read here instead of in each kind, so that no kind can lack them.
pub(super) const KEYS: &[&str] = &["type", "name", "turn", "negate", "weight", "required"];
/// The same for kinds that ask a judge.
pub(super) const KEYS_OF_JUDGES: &[&str] =
    &["type", "name", "turn", "negate", "weight", "required", "votes", "panel", "form", "evidence", "language"];
/// The same for kinds whose judges can see more than the turns.
pub(super) const KEYS_OF_MATERIAL: &[&str] = &[
    "type",
    "name",
    "turn",
    "negate",
    "weight",
    "required",
    "votes",
    "panel",
    "form",
    "evidence",
    "language",
    "sees",
    "reference",
    "policy",
];

/// The longest name of a metric.
const LONGEST_NAME: usize = 100;

/// The kind that the part names.
pub(super) fn kind<'a>(part: &'a Part<'_>, known: &[&'static str], findings: &mut Findings) -> Option<&'a str> {
    let known_kinds = || format!("known: {}", known.join(", "));
    match part.get("type").map(|written| written.value()) {
        Some(Value::String(kind)) if known.contains(&kind.as_str()) => return Some(kind),
        Some(Value::String(unknown)) => {
            findings.error(part.spot_of("type"), format!("unknown evaluation `{unknown}`"));
            findings.help(suggest::known_names(unknown, known.iter().copied()));
        }
        // A key without a value was found with the whole document.
        Some(Value::Null) => {}
        Some(_) => {
            findings.error(part.spot_of("type"), "expected the type of the evaluation");
            findings.help(known_kinds());
        }
        None if part.value().is_object() => {
            findings.error(part.spot(), "missing key `type`");
            let written = part.entries().into_iter().map(|(key, _)| key);
            findings.help(suggest::misspelt("type", written).unwrap_or_else(known_kinds));
        }
        None => findings.error(part.spot(), "expected an evaluation: a mapping with a `type`"),
    }
    None
}

/// Puts all but `type` on a check.
pub(super) fn read(check: Check, part: &Part<'_>, findings: &mut Findings) -> Check {
    Check {
        name: name(part, findings),
        at_turn: turn(part, findings),
        negated: switch("negate", false, part, findings),
        required: switch("required", true, part, findings),
        weight: weight(part, findings),
        ..check
    }
}

/// Adds them to each choice of the JSON Schema. `keys_of` says which keys a kind takes.
pub(super) fn describe(schema: &mut Schema, keys_of: fn(&str) -> &'static [&'static str]) {
    let Some(choices) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    for properties in choices.iter_mut().filter_map(|choice| choice.get_mut("properties")?.as_object_mut()) {
        let keys = properties.get("type").and_then(|kind| kind.get("const")?.as_str()).map_or(KEYS, keys_of);
        if keys != KEYS {
            judging::describe(keys == KEYS_OF_MATERIAL, properties);
        }
        let mut weight = Weight::json_schema(&mut schemars::SchemaGenerator::default()).to_value();
        weight["default"] = 1.0.into();
        weight["description"] = "The weight in the trial's weighted score.".into();
        let switch = |default: bool, description: &str| serde_json::json!({ "type": "boolean", "default": default, "description": description });
        let name = serde_json::json!({
            "type": "string", "minLength": 1, "maxLength": LONGEST_NAME,
            "description": "A metric of its own for the findings of this evaluation, in reports and in `/metrics`. Evaluations with the same name count together.",
        });
        properties.insert("name".to_owned(), name);
        let turn = serde_json::json!({
            "type": "integer", "minimum": 1,
            "description": "The only turn that the evaluation judges, from 1. Only in `turn_evaluations`.",
        });
        properties.insert("turn".to_owned(), turn);
        properties.insert("negate".to_owned(), switch(false, "Whether to swap pass and fail."));
        properties.insert("weight".to_owned(), weight);
        let description =
            "`false`: the evaluation only informs. gabfest judges and shows it, but it does not affect the verdict.";
        properties.insert("required".to_owned(), switch(true, description));
    }
}

fn switch(key: &str, usual: bool, part: &Part<'_>, findings: &mut Findings) -> bool {
    match part.get(key).as_ref().map(Part::value) {
        None => usual,
        Some(Value::Bool(written)) => *written,
        // A key without a value was found with the whole document.
        Some(Value::Null) => usual,
        Some(other) => {
            findings.error(part.spot_of(key), format!("expected true or false for `{key}`, found {other}"));
            findings.help(format!("`{key}` is {usual} by default"));
            usual
        }
    }
}

fn name(part: &Part<'_>, findings: &mut Findings) -> Option<String> {
    match part.get("name").as_ref().map(Part::value) {
        // A key without a value was found with the whole document.
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if !name.trim().is_empty() && name.len() <= LONGEST_NAME => Some(name.clone()),
        Some(other) => {
            findings.error(
                part.spot_of("name"),
                format!("expected a text of 1 to {LONGEST_NAME} bytes for `name`, found {other}"),
            );
            findings.help("`name` makes a metric of the findings of this evaluation, such as `tone`");
            None
        }
    }
}

fn turn(part: &Part<'_>, findings: &mut Findings) -> Option<u32> {
    let written = part.get("turn")?;
    match written.value() {
        Value::Null => None,
        value => match value.as_u64().and_then(|turn| u32::try_from(turn).ok()).filter(|turn| *turn > 0) {
            Some(turn) => Some(turn),
            None => {
                findings.error(
                    part.spot_of("turn"),
                    format!("expected a number of a turn, from 1, for `turn`, found {value}"),
                );
                None
            }
        },
    }
}

/// Refuses `turn` if the evaluations do not follow each turn of a conversation.
pub fn refuse_turn(parts: &[Part<'_>], findings: &mut Findings) {
    for part in parts.iter().filter(|part| part.get("turn").is_some()) {
        findings.error(part.key_spot("turn"), "`turn` has an effect in `turn_evaluations` only");
        findings.help("write the evaluation in `turn_evaluations` of the conversation");
    }
}

fn weight(part: &Part<'_>, findings: &mut Findings) -> f64 {
    match part.get("weight").as_ref().map(Part::value) {
        None | Some(Value::Null) => 1.0,
        Some(written) => match serde::Deserialize::deserialize(written) {
            Ok(Weight(weight)) => weight,
            Err(error) => {
                let error: serde_json::Error = error;
                findings.error(part.spot_of("weight"), error.to_string());
                findings.help("`weight` is the weight of the evaluation: 1 by default");
                1.0
            }
        },
    }
}
