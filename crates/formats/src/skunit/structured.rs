//! Checks written as JSON: `JsonCheck`, property by property, and `FunctionCall`, argument by argument.

use serde_json::Value;

use super::{assertion::Kind, json::Json, page::Item, page::Page, values::Values};
use crate::conditions;
use scenario::{
    Check, Rule,
    check::{self, ArgumentRule, CallOrder, CallPick, ExpectedCall, ToolCallsRule},
};
use yaml::{Findings, Part, Spot, suggest};

/// `{ "property": ["Check", "text"] }`.
pub(super) fn json_check(json: &Json, findings: &mut Findings) -> Option<Rule> {
    fields(&json.root(), json, findings)
}

/// The name of a function, or `{ "function_name": …, "arguments": …, "match_strategy": … }`.
pub(super) fn function_call(
    item: &Item<'_>,
    page: &Page<'_>,
    values: &Values,
    findings: &mut Findings,
) -> Option<Rule> {
    let text = values.fill(&item.text(&page.source));
    if !text.starts_with(['{', '[', '`']) {
        if text.is_empty() {
            findings.error(item.at, "`FunctionCall` needs the name of a function");
            return None;
        }
        return Some(rule(text, None, CallPick::Last));
    }
    let json = Json::read(item, page, values, findings)?;
    let root = json.root();
    const KEYS: [&str; 3] = ["function_name", "arguments", "match_strategy"];
    for (key, _) in root.entries().iter().filter(|(key, _)| !KEYS.contains(key)) {
        findings.error(json.spot(root.key_spot(key)), format!("unknown key `{key}`"));
        findings.help(suggest::known_names(key, KEYS));
    }
    let arguments = root.get("arguments").and_then(|part| arguments(&part, &json, findings));
    let pick = root.get("match_strategy").map_or(Some(CallPick::Last), |part| pick(&part, &json, findings));
    let Some(name) = root.get("function_name") else {
        findings.error(json.spot(root.spot()), "missing key `function_name`");
        return None;
    };
    match name.value().as_str().map(str::trim) {
        Some(name) if !name.is_empty() => Some(rule(name.to_owned(), arguments, pick?)),
        _ => {
            findings.error(json.spot(name.spot()), "expected the name of a function");
            None
        }
    }
}

fn rule(name: String, arguments: Option<Vec<(String, ArgumentRule)>>, pick: CallPick) -> Rule {
    let call = ExpectedCall { name, arguments, partial: true, result: None };
    Rule::ToolCalls(ToolCallsRule { calls: vec![call], order: CallOrder::AnyOrder, pick, by: Default::default() })
}

fn pick(part: &Part<'_>, json: &Json, findings: &mut Findings) -> Option<CallPick> {
    const STRATEGIES: [(&str, CallPick); 3] =
        [("AnyCall", CallPick::Any), ("LastCall", CallPick::Last), ("ExactSingleCall", CallPick::Single)];
    let written = part.value().as_str().unwrap_or_default();
    let known = STRATEGIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(written));
    if known.is_none() {
        findings.error(json.spot(part.spot()), format!("unknown strategy {}", part.value()));
        findings.help(suggest::known_names(written, STRATEGIES.map(|(name, _)| name)));
    }
    known.map(|(_, pick)| *pick)
}

fn arguments(part: &Part<'_>, json: &Json, findings: &mut Findings) -> Option<Vec<(String, ArgumentRule)>> {
    if !part.value().is_object() {
        findings.error(json.spot(part.spot()), "expected an object of arguments");
        return None;
    }
    let rules = part
        .entries()
        .into_iter()
        .filter_map(|(name, part)| Some((name.to_owned(), ArgumentRule::Checks(vec![value(&part, json, findings)?]))));
    Some(rules.collect())
}

fn fields(part: &Part<'_>, json: &Json, findings: &mut Findings) -> Option<Rule> {
    let at = json.spot(part.spot());
    let fields: Vec<(String, Vec<Check>)> = part
        .entries()
        .into_iter()
        .filter_map(|(name, part)| Some((name.to_owned(), vec![value(&part, json, findings)?])))
        .collect();
    if part.entries().is_empty() {
        findings.error(at, "the object has no property, so it would check nothing");
        return None;
    }
    Some(Rule::JsonCheck(check::JsonCheck { fields }))
}

/// The expectation for one value: a literal, `["Check", "text", …]`, or an object of those.
fn value(part: &Part<'_>, json: &Json, findings: &mut Findings) -> Option<Check> {
    let at = json.spot(part.spot());
    let check = match part.value() {
        Value::Object(_) => return fields(part, json, findings).map(|rule| Check::new(rule, at.line)),
        Value::Array(members) => listed(members, at),
        Value::Null => Kind::Empty.check(&[], at.line),
        literal => text(literal).and_then(|text| match text.trim() {
            "" => Kind::Empty.check(&[], at.line),
            _ => Kind::Equals.check(&[text], at.line),
        }),
    };
    let check = check.map_err(|message| findings.error(at, message)).ok()?;
    conditions::check_wording(&check, at, findings);
    Some(check)
}

fn listed(members: &[Value], at: Spot) -> Result<Check, String> {
    let Some((Value::String(name), values)) = members.split_first() else {
        return Err("expected the name of a check first, as in `[\"Equals\", \"text\"]`".to_owned());
    };
    let kind = Kind::named(name.trim()).map_err(|help| format!("unknown check `{name}`; {help}"))?;
    let values = values.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    match (kind, values.as_slice()) {
        (Kind::Equals, [empty]) if empty.trim().is_empty() => Kind::Empty.check(&[], at.line),
        _ => kind.check(&values, at.line),
    }
}

/// Numbers and JSON keywords are compared as text.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null => Ok(String::new()),
        Value::Array(_) | Value::Object(_) => Err(format!("expected a text, found {value}")),
    }
}
