//! The kinds that look at JSON: in the text, and in the calls of tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{EvaluationDocument, fields, read_map, read_within};
use crate::bounded::Words;
use scenario::{
    Rule,
    check::{ArgumentRule, CallOrder, CallPick, ExpectedCall, ToolCallsRule},
};
use yaml::{Findings, Part};

/// The text is a JSON object, perhaps in a fence or between words, and the values in it are as they should be.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct JsonCheck {
    /// Words for people.
    description: Option<String>,
    /// A key, `address.city`, `items[0].id` or a path that begins with `$`, to the evaluations of the value as text.
    #[serde(rename = "fields")]
    #[schemars(with = "std::collections::BTreeMap<String, Vec<EvaluationDocument>>")]
    _fields: Map<String, Value>,
}

/// The text is JSON, perhaps in a fence or between words, that fits a JSON Schema.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct JsonSchemaDocument {
    /// Words for people.
    description: Option<String>,
    /// The JSON Schema; it may not refer to other documents.
    schema: Map<String, Value>,
}

/// A path selects something in the text's JSON, and every value that it selects satisfies the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct JsonPath {
    /// Words for people.
    description: Option<String>,
    /// `$.items[*].id` (RFC 9535), or without `$` from the root.
    path: Words,
    /// What each value, as text, must satisfy; none: it is enough that there is one.
    #[serde(default, rename = "checks")]
    #[schemars(with = "Vec<EvaluationDocument>")]
    _checks: Vec<Value>,
}

/// The agent called the tools that it should have called.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ToolCalls {
    /// Words for people.
    description: Option<String>,
    /// How the calls made and those listed must agree.
    #[serde(default)]
    #[schemars(extend("default" = "any_order"))]
    order: CallOrder,
    /// Which of several calls of one tool may answer a listed one.
    #[serde(default)]
    #[schemars(extend("default" = "any"))]
    pick: CallPick,
    /// The calls. An empty list is for the exact orders: no tools at all.
    #[serde(rename = "calls")]
    #[schemars(with = "Vec<CallDocument>")]
    _calls: Vec<Value>,
}

/// A call as it should be.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedCall")]
pub(crate) struct CallDocument {
    /// The tool's name, letter by letter.
    name: Words,
    /// Arguments and the JSON values that they must have. Without these and `argument_checks` they are not looked at.
    arguments: Option<Map<String, Value>>,
    /// Arguments and what their values, as text, must satisfy; an empty list: the argument is there.
    #[serde(rename = "argument_checks")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, Vec<EvaluationDocument>>>")]
    _argument_checks: Option<Map<String, Value>>,
    /// Arguments of which more is to be said.
    #[serde(rename = "argument_rules")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, RuleDocument>>")]
    _argument_rules: Option<Map<String, Value>>,
    /// Whether there may be other arguments besides those listed.
    #[serde(default)]
    partial: bool,
    /// The JSON value, or the text, that the tool must have answered.
    result: Option<Value>,
    /// What the tool's answer must satisfy; an empty list: there is one.
    #[serde(rename = "result_checks")]
    #[schemars(with = "Option<Vec<EvaluationDocument>>")]
    _result_checks: Option<Vec<Value>>,
    /// The tool's answer, where more is to be said of it.
    #[serde(rename = "result_rule")]
    #[schemars(with = "Option<RuleDocument>")]
    _result_rule: Option<Value>,
}

/// What an argument or an answer must be: exactly one of these.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ArgumentRule")]
#[expect(dead_code, reason = "its schema is used; it is read by hand, so that faults keep their places")]
pub(crate) struct RuleDocument {
    /// This JSON value.
    equals: Option<Value>,
    /// As text, it satisfies these; an empty list: it is there.
    checks: Option<Vec<EvaluationDocument>>,
    /// It is an object with these keys, and each value is as said here.
    fields: Option<std::collections::BTreeMap<String, RuleDocument>>,
    /// The same, and there may be other keys.
    fields_among_others: Option<std::collections::BTreeMap<String, RuleDocument>>,
    /// `true`: it need not even be there.
    optional: Option<bool>,
}

pub(super) fn read(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "json_check" => {
            let JsonCheck { description, .. } = fields(part, findings)?;
            let fields = read_map(part, "fields", findings);
            super::check_not_empty(fields.len(), part, "fields", findings);
            (description, Rule::JsonCheck { fields })
        }
        "json_schema" => {
            let JsonSchemaDocument { description, schema } = fields(part, findings)?;
            (description, Rule::JsonSchema { schema: Value::Object(schema) })
        }
        "json_path" => {
            let JsonPath { description, path, .. } = fields(part, findings)?;
            (description, Rule::JsonPath { path: path.0, checks: read_within(part, "checks", findings) })
        }
        _ => {
            let ToolCalls { description, order, pick, .. } = fields(part, findings)?;
            let calls: Vec<ExpectedCall> =
                part.items_of("calls").iter().filter_map(|part| call(part, findings)).collect();
            if !matches!(order, CallOrder::Exact | CallOrder::ExactAnyOrder | CallOrder::Subset) {
                super::check_not_empty(part.items_of("calls").len(), part, "calls", findings);
            }
            (description, Rule::ToolCalls(ToolCallsRule { calls, order, pick }))
        }
    })
}

fn call(part: &Part<'_>, findings: &mut Findings) -> Option<ExpectedCall> {
    let written: CallDocument = part.decode(findings)?;
    let has = |key: &str| part.get(key).is_some();
    let has_arguments = has("arguments") || has("argument_checks") || has("argument_rules");
    let equal = written.arguments.into_iter().flatten().map(|(name, value)| (name, ArgumentRule::Equals(value)));
    let mut arguments: Vec<(String, ArgumentRule)> = equal.collect();
    for (name, checked) in part.get("argument_checks").iter().flat_map(Part::entries) {
        if arguments.iter().any(|(known, _)| known == name) {
            findings.error(checked.spot(), format!("`{name}` stands in `arguments` too"));
            findings.help("an argument has one value or a list of evaluations");
        }
        let rule = if checked.items().is_empty() {
            ArgumentRule::Anything
        } else {
            ArgumentRule::Checks(super::read_text_checks(&checked.items(), findings))
        };
        arguments.push((name.to_owned(), rule));
    }
    for (name, written) in part.get("argument_rules").iter().flat_map(Part::entries) {
        if arguments.iter().any(|(known, _)| known == name) {
            findings.error(written.spot(), format!("`{name}` stands in `arguments` or `argument_checks` too"));
        }
        arguments.push((name.to_owned(), rule(&written, findings)?));
    }
    let result = match (written.result, part.get("result_checks")) {
        (None, None) if has("result_rule") => Some(rule(&part.get("result_rule")?, findings)?),
        _ if has("result_rule") => {
            findings.error(part.key_spot("result_rule"), "`result_rule` stands beside another word on the result");
            None
        }
        (Some(_), Some(checks)) => {
            findings.error(checks.spot(), "`result_checks` stands beside `result`");
            findings.help("a result has one value or a list of evaluations");
            None
        }
        (Some(value), None) => Some(ArgumentRule::Equals(value)),
        (None, Some(checks)) if checks.items().is_empty() => Some(ArgumentRule::Anything),
        (None, Some(checks)) => Some(ArgumentRule::Checks(super::read_text_checks(&checks.items(), findings))),
        (None, None) => None,
    };
    Some(ExpectedCall {
        name: written.name.0,
        arguments: has_arguments.then_some(arguments),
        partial: written.partial,
        result,
    })
}

fn rule(part: &Part<'_>, findings: &mut Findings) -> Option<ArgumentRule> {
    let entries = part.entries();
    let [(kind, written)] = entries.as_slice() else {
        findings.error(
            part.spot(),
            "expected exactly one of `equals`, `checks`, `fields`, `fields_among_others`, `optional`",
        );
        return None;
    };
    let mut fields = |partial: bool| {
        let fields =
            written.entries().into_iter().map(|(name, field)| Some((name.to_owned(), rule(&field, findings)?)));
        Some(ArgumentRule::Fields { fields: fields.collect::<Option<Vec<_>>>()?, partial })
    };
    match *kind {
        "equals" => Some(ArgumentRule::Equals(written.value().clone())),
        "checks" if written.items().is_empty() => Some(ArgumentRule::Anything),
        "checks" => Some(ArgumentRule::Checks(super::read_text_checks(&written.items(), findings))),
        "fields" => fields(false),
        "fields_among_others" => fields(true),
        "optional" if *written.value() == Value::Bool(true) => Some(ArgumentRule::Optional),
        _ => {
            findings.error(written.spot(), format!("`{kind}` does not say what the value must be"));
            findings.help("known: equals, checks, fields, fields_among_others, optional: true");
            None
        }
    }
}
