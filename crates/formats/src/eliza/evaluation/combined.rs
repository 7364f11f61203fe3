//! The kinds that other formats have too: one of several, the telephone, functions, and ids of answers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{EvaluationDocument, check_not_empty, fields, read_within};
use crate::bounded::{Count, Words};
use scenario::{Rule, check::CallRule};
use yaml::{Findings, Part};

/// The text satisfies at least one of the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnyOf {
    /// Words for people.
    description: Option<String>,
    /// Asked in this order, until one holds.
    #[serde(rename = "checks")]
    #[schemars(with = "Vec<EvaluationDocument>", length(min = 1))]
    _checks: Vec<Value>,
}

/// The agent did exactly these things on the telephone, in this order.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TelephonyEvents {
    /// Words for people.
    description: Option<String>,
    /// `dtmf KEY`, `transfer_call NUMBER` and `end_call`; an empty list: nothing of the kind.
    expected: Vec<Words>,
}

/// A function that is asked about the conversation has a result that satisfies the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CallFunction {
    /// Words for people.
    description: Option<String>,
    /// The name under which the settings may have a model of its own for it (`models`).
    plugin: String,
    /// The function's name.
    function: String,
    /// Handed over in this order.
    #[serde(default, rename = "arguments")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    _arguments: Map<String, Value>,
    /// What its result, as text, must satisfy.
    #[serde(rename = "checks")]
    #[schemars(with = "Vec<EvaluationDocument>", length(min = 1))]
    _checks: Vec<Value>,
}

/// The agent, one that looks its answers up, gave the answer with an id.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AnswerId {
    /// Words for people.
    description: Option<String>,
    /// The id.
    id: Count,
}

pub(super) fn read(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "any_of" => {
            let AnyOf { description, .. } = fields(part, findings)?;
            (description, Rule::AnyOf { checks: some_within(part, findings) })
        }
        "telephony_events" => {
            let TelephonyEvents { description, expected } = fields(part, findings)?;
            (description, Rule::TelephonyEvents { expected: expected.into_iter().map(|event| event.0).collect() })
        }
        "call" => {
            let CallFunction { description, plugin, function, .. } = fields(part, findings)?;
            let mut arguments = Vec::new();
            for (name, value) in part.get("arguments").iter().flat_map(Part::entries) {
                let Value::String(text) = value.value() else {
                    findings.error(value.spot(), format!("expected a text for `{name}`"));
                    continue;
                };
                arguments.push((name.to_owned(), text.clone()));
            }
            let checks = some_within(part, findings);
            (description, Rule::Call(CallRule { plugin, function, arguments, checks }))
        }
        _ => {
            let AnswerId { description, id } = fields(part, findings)?;
            (description, Rule::AnswerId { id: id.0 })
        }
    })
}

fn some_within(part: &Part<'_>, findings: &mut Findings) -> Vec<scenario::Check> {
    check_not_empty(part.items_of("checks").len(), part, "checks", findings);
    read_within(part, "checks", findings)
}
