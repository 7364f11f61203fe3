//! Writes an evaluation. The model's names are those of the file, except in rules with inner checks.

use serde_json::{Map, Value, json};

use super::map::{plain, put, put_list, put_map};
use scenario::{
    Check, Rule,
    check::{self, ArgumentRule, Expected, ExpectedCall, ToolCallsRule},
};

pub(super) fn write_all(checks: &[Check]) -> Vec<Value> {
    checks.iter().map(write).collect()
}

fn write(check: &Check) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!(check.rule.kind()));
    put(&mut map, "name", check.name.as_ref().map(|name| json!(name)));
    put(&mut map, "turn", check.at_turn.map(|turn| json!(turn)));
    put(&mut map, "description", check.description.as_ref().map(|description| json!(description)));
    fields(&check.rule, &mut map);
    if check.rule.asks_judge() {
        flat(&plain(&check.judging), &mut map);
        put(&mut map, "policy", check.judging.policy.as_ref().map(|policy| json!(policy.path)));
    }
    put(&mut map, "negate", check.negated.then(|| json!(true)));
    put(&mut map, "weight", (check.weight != 1.0).then(|| json!(check.weight)));
    put(&mut map, "required", (!check.required).then(|| json!(false)));
    Value::Object(map)
}

fn fields(rule: &Rule, map: &mut Map<String, Value>) {
    match rule {
        Rule::RegexMatch(check::RegexMatch { pattern, case_sensitive, captures }) => {
            map.insert("pattern".to_owned(), json!(pattern));
            put(map, "case_sensitive", case_sensitive.then(|| json!(true)));
            put_map(map, "captures", named(captures));
        }
        Rule::JsonCheck(check::JsonCheck { fields }) => {
            map.insert("fields".to_owned(), Value::Object(named(fields)));
        }
        Rule::JsonPath(check::JsonPath { path, checks }) => {
            map.insert("path".to_owned(), json!(path));
            put_list(map, "checks", write_all(checks));
        }
        Rule::AnyOf(check::AnyOf { checks }) => {
            map.insert("checks".to_owned(), Value::Array(write_all(checks)));
        }
        Rule::Call(rule) => {
            map.insert("plugin".to_owned(), json!(rule.plugin));
            map.insert("function".to_owned(), json!(rule.function));
            let arguments = rule.arguments.iter().map(|(name, value)| (name.clone(), json!(value)));
            put_map(map, "arguments", arguments.collect());
            map.insert("checks".to_owned(), Value::Array(write_all(&rule.checks)));
        }
        Rule::ToolCalls(rule) => tool_calls(rule, map),
        Rule::GoalReached(check::GoalReached { parts, model_type, goal: _ }) => {
            put(map, "parts", (*parts != Default::default()).then(|| json!(parts)));
            put(map, "model_type", model_type.as_ref().map(|judge| json!(judge)));
        }
        Rule::LlmJudge(rule) => {
            flat(&plain(rule), map);
            map.insert("expected".to_owned(), json!(expected(&rule.expected)));
        }
        Rule::UserSatisfaction(check::UserSatisfaction { satisfaction_threshold, positive, negative, method }) => {
            map.insert("satisfaction_threshold".to_owned(), json!(satisfaction_threshold));
            let mut indicators = Map::new();
            put(&mut indicators, "positive", positive.as_ref().map(|words| json!(words)));
            put(&mut indicators, "negative", negative.as_ref().map(|words| json!(words)));
            put_map(map, "indicators", indicators);
            map.insert("measurement_method".to_owned(), json!(method));
        }
        other => {
            // A variant is one name and its fields; without fields it is the name alone.
            if let Value::Object(variant) = plain(other) {
                variant.values().for_each(|fields| flat(fields, map));
            }
        }
    }
}

/// Copies the fields, except empty ones.
fn flat(fields: &Value, map: &mut Map<String, Value>) {
    for (name, value) in fields.as_object().into_iter().flatten() {
        let says_nothing = match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(list) => list.is_empty() && matches!(name.as_str(), "capabilities" | "sees"),
            _ => false,
        };
        if !says_nothing {
            map.insert(name.clone(), value.clone());
        }
    }
}

fn named(lists: &[(String, Vec<Check>)]) -> Map<String, Value> {
    lists.iter().map(|(name, list)| (name.clone(), Value::Array(write_all(list)))).collect()
}

fn expected(expected: &Expected) -> String {
    match expected {
        Expected::Yes => "yes".to_owned(),
        Expected::No => "no".to_owned(),
        Expected::AtLeast(least) => format!("{least}+"),
        Expected::AtMost(most) => format!("{most}-"),
        Expected::Between(low, high) => format!("{low}-{high}"),
        Expected::Says(word) => word.clone(),
    }
}

fn tool_calls(rule: &ToolCallsRule, map: &mut Map<String, Value>) {
    map.insert("order".to_owned(), json!(rule.order));
    put(map, "by", (rule.by != Default::default()).then(|| json!(rule.by)));
    put(map, "pick", (rule.pick != Default::default()).then(|| json!(rule.pick)));
    map.insert("calls".to_owned(), rule.calls.iter().map(call).collect());
}

/// Arguments keep their order: equal ones may come first and separately; all others are identified by their rules.
fn call(call: &ExpectedCall) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(call.name));
    if let Some(arguments) = &call.arguments {
        let equal: Option<Map<String, Value>> =
            arguments.iter().map(|(name, rule)| Some((name.clone(), equal(rule)?))).collect();
        match equal {
            Some(equal) => map.insert("arguments".to_owned(), Value::Object(equal)),
            None => map.insert("argument_rules".to_owned(), Value::Object(rules(arguments))),
        };
    }
    put(&mut map, "partial", call.partial.then(|| json!(true)));
    if let Some(result) = &call.result {
        match equal(result) {
            Some(value) => map.insert("result".to_owned(), value),
            None => map.insert("result_rule".to_owned(), rule(result)),
        };
    }
    Value::Object(map)
}

/// A value in its short form; `null` would count as absent.
fn equal(rule: &ArgumentRule) -> Option<Value> {
    match rule {
        ArgumentRule::Equals(value) if !value.is_null() => Some(value.clone()),
        _ => None,
    }
}

fn rules(fields: &[(String, ArgumentRule)]) -> Map<String, Value> {
    fields.iter().map(|(name, field)| (name.clone(), rule(field))).collect()
}

fn rule(rule: &ArgumentRule) -> Value {
    match rule {
        ArgumentRule::Equals(value) => json!({ "equals": value }),
        ArgumentRule::Checks(list) => json!({ "checks": write_all(list) }),
        ArgumentRule::Anything => json!({ "checks": [] }),
        ArgumentRule::Optional => json!({ "optional": true }),
        ArgumentRule::Fields { fields, partial: false } => json!({ "fields": rules(fields) }),
        ArgumentRule::Fields { fields, partial: true } => json!({ "fields_among_others": rules(fields) }),
    }
}
