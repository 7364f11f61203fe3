//! The tool calls that a turn expects: exactly these, in any order.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::pattern;
use crate::conditions;
use scenario::{
    Check, Rule,
    check::{ArgumentRule, CallOrder, CallPick, ExpectedCall, ToolCallsRule},
};
use yaml::bounded::Words;
use yaml::{Findings, Part};

/// A call of a tool as it should be.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedToolCall")]
pub(crate) struct CallDocument {
    /// The tool's name.
    name: Words,
    /// By name; a text may be `*`, `<what must be true of it>` or words, and `null` leaves it unlooked at.
    #[serde(default, rename = "arguments")]
    #[schemars(with = "Map<String, Value>")]
    _arguments: Value,
    /// What the tool must answer, by the same rules; `null`: not looked at.
    #[serde(default, rename = "result")]
    #[schemars(with = "Value")]
    _result: Value,
    /// Whether there may be keys besides those written.
    partial: Option<bool>,
}

pub(super) fn check(calls: &[Part<'_>], partial: bool, line: u32, findings: &mut Findings) -> Option<Check> {
    let calls: Option<Vec<ExpectedCall>> = calls.iter().map(|call| read(call, partial, findings)).collect();
    let rule =
        ToolCallsRule { calls: calls?, order: CallOrder::ExactAnyOrder, pick: CallPick::Any, by: Default::default() };
    Some(Check::new(Rule::ToolCalls(rule), line))
}

fn read(part: &Part<'_>, partial: bool, findings: &mut Findings) -> Option<ExpectedCall> {
    let written = part.decode_without::<CallDocument>(&["arguments", "result"], findings)?;
    let partial = written.partial.unwrap_or(partial);
    let line = part.line();
    let arguments = match part.get("arguments").map(|arguments| (arguments.value(), arguments.spot())) {
        None | Some((Value::Null, _)) => Some(Vec::new()),
        Some((Value::Object(map), _)) => Some(fields(map, partial, line)),
        Some((_, spot)) => {
            findings.error(spot, "expected the arguments by name");
            None
        }
    };
    let result = part.get("result").map(|result| rule(result.value(), partial, line));
    for rule in arguments.iter().flatten().map(|(_, rule)| rule).chain(&result) {
        conditions::check_argument_wording(rule, part.spot(), findings);
    }
    Some(ExpectedCall {
        name: written.name.0,
        arguments: Some(arguments?),
        partial,
        result: result.filter(|rule| *rule != ArgumentRule::Optional),
    })
}

fn fields(map: &Map<String, Value>, partial: bool, line: u32) -> Vec<(String, ArgumentRule)> {
    map.iter().map(|(name, value)| (name.clone(), rule(value, partial, line))).collect()
}

fn rule(value: &Value, partial: bool, line: u32) -> ArgumentRule {
    match value {
        Value::Null => ArgumentRule::Optional,
        Value::String(text) => match pattern::check(std::slice::from_ref(text), line) {
            None => ArgumentRule::Anything,
            Some(_) if text.is_empty() => ArgumentRule::Equals(value.clone()),
            Some(check) => ArgumentRule::Checks(vec![check]),
        },
        Value::Object(map) => ArgumentRule::Fields { fields: fields(map, partial, line), partial },
        other => ArgumentRule::Equals(other.clone()),
    }
}
