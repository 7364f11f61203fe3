//! What every kind takes: `type`, `negate`, `weight` and `required`. Kinds that ask a judge take the keys of [`judging`] too.

use schemars::{JsonSchema, Schema};
use serde_json::Value;
use yaml::{Findings, Part, bounded::Weight, suggest};

use super::{Check, judging};

/// The keys that are read here, apart from the fields of a kind, so that no kind can lack them.
pub(super) const KEYS: &[&str] = &["type", "negate", "weight", "required"];
/// The same for kinds that ask a judge.
pub(super) const KEYS_OF_JUDGES: &[&str] =
    &["type", "negate", "weight", "required", "votes", "panel", "form", "evidence", "language"];

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

/// Puts `negate`, `weight` and `required` on a check.
pub(super) fn read(check: Check, part: &Part<'_>, findings: &mut Findings) -> Check {
    Check {
        negated: switch("negate", false, part, findings),
        required: switch("required", true, part, findings),
        weight: weight(part, findings),
        ..check
    }
}

/// Adds them to each choice of the JSON Schema. `asks_judge` says which kinds take the keys of judges.
pub(super) fn describe(schema: &mut Schema, asks_judge: fn(&str) -> bool) {
    let Some(choices) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    for properties in choices.iter_mut().filter_map(|choice| choice.get_mut("properties")?.as_object_mut()) {
        if properties.get("type").and_then(|kind| kind.get("const")?.as_str()).is_some_and(asks_judge) {
            judging::describe(properties);
        }
        let mut weight = Weight::json_schema(&mut schemars::SchemaGenerator::default()).to_value();
        weight["default"] = 1.0.into();
        weight["description"] = "The weight in the trial's weighted score.".into();
        let switch = |default: bool, description: &str| serde_json::json!({ "type": "boolean", "default": default, "description": description });
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
