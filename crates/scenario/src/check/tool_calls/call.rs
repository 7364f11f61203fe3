//! One expected call: its name, its arguments and its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yaml::{Part, bounded::Words};

use crate::check::{
    Check,
    place::{Nested, Place},
    question::{self, Question},
};

/// An expected call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCall {
    /// Compared exactly.
    pub name: String,
    /// `None`: arguments do not matter.
    pub arguments: Option<Vec<(String, ArgumentRule)>>,
    /// Whether other arguments are allowed.
    pub partial: bool,
    /// What the tool must have answered; `None`: any result.
    pub result: Option<ArgumentRule>,
}

/// What an argument or a result must satisfy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRule {
    /// This JSON value. 1 equals 1.0, and a result that is not JSON is compared as text.
    Equals(Value),
    /// The value as text (a JSON string without its quotes, any other value as JSON) satisfies all of these.
    Checks(Vec<Check>),
    /// It is present.
    Anything,
    /// It can be absent.
    Optional,
    /// An object with these keys. `partial` allows other keys.
    Fields { fields: Vec<(String, ArgumentRule)>, partial: bool },
}

/// An expected call.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ExpectedCall")]
pub(super) struct WrittenCall {
    /// The exact name of the tool.
    name: Words,
    /// The exact JSON values of arguments. Without `arguments`, `argument_checks` and `argument_rules`, arguments do not matter.
    arguments: Option<Map<String, Value>>,
    /// For each argument, the evaluations of its value as text. An empty list only requires the argument.
    #[serde(rename = "argument_checks")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, Vec<Nested>>>")]
    _argument_checks: Option<Map<String, Value>>,
    /// For each argument, a rule.
    #[serde(rename = "argument_rules")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, WrittenRule>>")]
    _argument_rules: Option<Map<String, Value>>,
    /// Whether other arguments are allowed.
    #[serde(default)]
    partial: bool,
    /// The exact result of the tool: a JSON value or a text.
    result: Option<Value>,
    /// The evaluations of the tool's result. An empty list only requires a result.
    #[serde(rename = "result_checks")]
    #[schemars(with = "Option<Vec<Nested>>")]
    _result_checks: Option<Vec<Value>>,
    /// A rule for the tool's result.
    #[serde(rename = "result_rule")]
    #[schemars(with = "Option<WrittenRule>")]
    _result_rule: Option<Value>,
}

/// What an argument or a result must be: exactly one of these keys.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ArgumentRule")]
#[expect(dead_code, reason = "its schema is used; it is read by hand, so that faults keep their places")]
struct WrittenRule {
    /// This JSON value.
    equals: Option<Value>,
    /// The evaluations of the value as text. An empty list only requires the value.
    checks: Option<Vec<Nested>>,
    /// The value is an object with exactly these keys, and each of its values satisfies its rule.
    fields: Option<std::collections::BTreeMap<String, WrittenRule>>,
    /// Like `fields`, with other keys allowed.
    fields_among_others: Option<std::collections::BTreeMap<String, WrittenRule>>,
    /// `true`: the value can be absent.
    optional: Option<bool>,
}

impl ExpectedCall {
    /// The questions of the checks of arguments and result.
    #[must_use]
    pub fn questions(&self) -> Vec<Question<'_>> {
        let arguments = self.arguments.iter().flatten().map(|(_, rule)| rule);
        arguments.chain(&self.result).flat_map(ArgumentRule::questions).collect()
    }
}

impl ArgumentRule {
    fn questions(&self) -> Vec<Question<'_>> {
        match self {
            Self::Checks(checks) => question::of_checks(checks),
            Self::Fields { fields, .. } => fields.iter().flat_map(|(_, rule)| rule.questions()).collect(),
            Self::Equals(_) | Self::Anything | Self::Optional => Vec::new(),
        }
    }
}

/// Reads one call. `place` is the position of the list of calls.
pub(super) fn read(part: &Part<'_>, place: &mut Place<'_, '_>) -> Option<ExpectedCall> {
    let written: WrittenCall = part.decode(place.findings)?;
    let has = |key: &str| part.get(key).is_some();
    let has_arguments = has("arguments") || has("argument_checks") || has("argument_rules");
    let equal = written.arguments.into_iter().flatten().map(|(name, value)| (name, ArgumentRule::Equals(value)));
    let mut arguments: Vec<(String, ArgumentRule)> = equal.collect();
    for (name, checked) in part.get("argument_checks").iter().flat_map(Part::entries) {
        if arguments.iter().any(|(known, _)| known == name) {
            place.findings.error(checked.spot(), format!("`{name}` is in `arguments` too"));
            place.findings.help("an argument has one value or a list of evaluations");
        }
        let rule = if checked.items().is_empty() {
            ArgumentRule::Anything
        } else {
            ArgumentRule::Checks(place.checks_of(&checked.items()))
        };
        arguments.push((name.to_owned(), rule));
    }
    for (name, written) in part.get("argument_rules").iter().flat_map(Part::entries) {
        if arguments.iter().any(|(known, _)| known == name) {
            place.findings.error(written.spot(), format!("`{name}` is in `arguments` or `argument_checks` too"));
        }
        arguments.push((name.to_owned(), rule(&written, place)?));
    }
    let result = match (written.result, part.get("result_checks")) {
        (None, None) if has("result_rule") => Some(rule(&part.get("result_rule")?, place)?),
        _ if has("result_rule") => {
            place.findings.error(part.key_spot("result_rule"), "`result_rule` excludes `result` and `result_checks`");
            None
        }
        (Some(_), Some(checks)) => {
            place.findings.error(checks.spot(), "`result_checks` excludes `result`");
            place.findings.help("a result has one value or a list of evaluations");
            None
        }
        (Some(value), None) => Some(ArgumentRule::Equals(value)),
        (None, Some(checks)) if checks.items().is_empty() => Some(ArgumentRule::Anything),
        (None, Some(checks)) => Some(ArgumentRule::Checks(place.checks_of(&checks.items()))),
        (None, None) => None,
    };
    Some(ExpectedCall {
        name: written.name.0,
        arguments: has_arguments.then_some(arguments),
        partial: written.partial,
        result,
    })
}

fn rule(part: &Part<'_>, place: &mut Place<'_, '_>) -> Option<ArgumentRule> {
    let entries = part.entries();
    let [(kind, written)] = entries.as_slice() else {
        place.findings.error(
            part.spot(),
            "expected exactly one of `equals`, `checks`, `fields`, `fields_among_others`, `optional`",
        );
        return None;
    };
    let mut fields = |partial: bool| {
        let fields = written.entries().into_iter().map(|(name, field)| Some((name.to_owned(), rule(&field, place)?)));
        Some(ArgumentRule::Fields { fields: fields.collect::<Option<Vec<_>>>()?, partial })
    };
    match *kind {
        "equals" => Some(ArgumentRule::Equals(written.value().clone())),
        "checks" if written.items().is_empty() => Some(ArgumentRule::Anything),
        "checks" => Some(ArgumentRule::Checks(place.checks_of(&written.items()))),
        "fields" => fields(false),
        "fields_among_others" => fields(true),
        "optional" if *written.value() == Value::Bool(true) => Some(ArgumentRule::Optional),
        _ => {
            place.findings.error(written.spot(), format!("`{kind}` is not a rule for a value"));
            place.findings.help("known: equals, checks, fields, fields_among_others, optional: true");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Rule, SemanticCondition};

    #[test]
    fn questions_inside_of_arguments_are_counted_at_every_depth() {
        let condition = || Rule::SemanticCondition(SemanticCondition { condition: "polite".into() });
        let judged = || ArgumentRule::Checks(vec![Check::new(condition(), 1)]);
        let fields = |rules: Vec<ArgumentRule>| ArgumentRule::Fields {
            fields: rules.into_iter().map(|rule| ("key".to_owned(), rule)).collect(),
            partial: false,
        };
        assert_eq!(ArgumentRule::Anything.questions().len(), 0);
        assert_eq!(judged().questions().len(), 1);
        assert_eq!(fields(vec![judged(), fields(vec![judged(), ArgumentRule::Optional])]).questions().len(), 2);
    }
}
