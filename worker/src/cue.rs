//! Cues for the mock agent: the answer that a scenario expects in a step.

use std::sync::Arc;

use llm::{Annotation, Cue, FunctionCall};
use record::answer::Answer;
use scenario::{
    Action, Check, Rule, Step,
    check::{self, ArgumentRule, CallBy, CallOrder, ExpectedCall, bounded::Count},
};
use serde_json::{Map, Value};

/// `None` if the step expects no particular answer, as in a conversation with a simulated user.
pub(crate) fn of_step(step: &Step) -> Option<Arc<Cue>> {
    let Action::Say { expected, .. } = &step.action else { return None };
    let checks = || step.checks.iter().filter(|check| !check.negated);
    let listed: Vec<&ExpectedCall> = checks().flat_map(calls_of).collect();
    let notes: Vec<Annotation> = checks().filter_map(note).collect();
    // A check that only names a tool is answered by the call that another one describes.
    let is_described = |call: &ExpectedCall| {
        call.arguments.is_none() && listed.iter().any(|other| other.name == call.name && other.arguments.is_some())
    };
    let tool_calls: Vec<FunctionCall> =
        listed.iter().filter(|call| !is_described(call)).map(|expected| call(expected)).collect();
    let actions: Vec<String> = checks().flat_map(events_of).cloned().collect();
    let text = match expected {
        Some(expected) => expected.text(),
        None => match checks().find_map(condition_of) {
            Some(condition) => format!("To be clear, this {condition}."),
            None if actions.is_empty() && tool_calls.is_empty() && notes.is_empty() => return None,
            None => String::new(),
        },
    };
    Some(Arc::new(Cue { text, tool_calls, actions, notes }))
}

/// The condition on the answer in a pattern of an expected conversation.
fn condition_of(check: &Check) -> Option<&str> {
    match &check.rule {
        Rule::SemanticCondition(check::SemanticCondition { condition }) => Some(condition),
        Rule::AnyOf(check::AnyOf { checks }) => checks.iter().find_map(condition_of),
        _ => None,
    }
}

fn events_of(check: &Check) -> &[String] {
    match &check.rule {
        Rule::TelephonyEvents(check::TelephonyEvents { expected }) => expected,
        _ => &[],
    }
}

fn note(check: &Check) -> Option<Annotation> {
    let Rule::AnswerId(check::AnswerId { id: Count(id) }) = check.rule else { return None };
    let note = Answer { id: i64::from(id), score: 100.0 }.note();
    Some(Annotation { kind: note.kind, text: note.text })
}

fn calls_of(check: &Check) -> &[ExpectedCall] {
    match &check.rule {
        Rule::ToolCalls(rule) if rule.order != CallOrder::Forbidden && rule.by == CallBy::Agent => &rule.calls,
        _ => &[],
    }
}

fn call(expected: &ExpectedCall) -> FunctionCall {
    let arguments = object(expected.arguments.as_deref().unwrap_or_default());
    FunctionCall { name: expected.name.clone(), arguments: arguments.to_string(), ..FunctionCall::default() }
}

fn object(fields: &[(String, ArgumentRule)]) -> Value {
    let given = fields.iter().filter_map(|(name, rule)| Some((name.clone(), argument(name, rule)?)));
    Value::Object(given.collect::<Map<String, Value>>())
}

/// A value that satisfies the rule, if the rule determines one.
fn argument(name: &str, rule: &ArgumentRule) -> Option<Value> {
    let checks = match rule {
        ArgumentRule::Optional => return None,
        ArgumentRule::Equals(value) => return Some(value.clone()),
        ArgumentRule::Fields { fields, .. } => return Some(object(fields)),
        ArgumentRule::Checks(checks) => checks.as_slice(),
        ArgumentRule::Anything => &[],
    };
    let text = checks.iter().find_map(|check| match &check.rule {
        _ if check.negated => None,
        Rule::Equals(check::Equals { values, .. })
        | Rule::StartsWith(check::StartsWith { values, .. })
        | Rule::EndsWith(check::EndsWith { values, .. }) => values.first().cloned(),
        Rule::Contains(check::Contains { values, .. }) => Some(values.join(", ")),
        Rule::StringContains(check::StringContains { value, .. }) => Some(value.clone()),
        Rule::SemanticSimilar(check::SemanticSimilar { expected, .. }) => expected.first().cloned(),
        Rule::SemanticCondition(check::SemanticCondition { condition }) => Some(condition.clone()),
        Rule::Empty(_) => Some(String::new()),
        _ => None,
    });
    Some(Value::String(text.unwrap_or_else(|| name.to_owned())))
}

#[cfg(test)]
mod tests {
    use scenario::{
        Message,
        check::{self, CallPick, ToolCallsRule},
        message::Speaker,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_is_answered_as_it_expects() {
        let equals =
            Check::new(Rule::Equals(check::Equals { values: vec!["Happy".to_owned()], ignore_case: false }), 1);
        let not_empty = Check::new(Rule::Empty(check::Empty {}), 1).negated();
        let arguments = vec![
            ("mood".to_owned(), ArgumentRule::Checks(vec![equals])),
            ("place".to_owned(), ArgumentRule::Checks(vec![not_empty])),
            ("count".to_owned(), ArgumentRule::Equals(json!(3))),
        ];
        let listed = ExpectedCall { name: "menu".to_owned(), arguments: Some(arguments), partial: true, result: None };
        let rule = |order| {
            Rule::ToolCalls(ToolCallsRule {
                calls: vec![listed.clone()],
                order,
                pick: CallPick::Any,
                by: CallBy::Agent,
            })
        };
        let say = |expected: Option<&str>| Action::Say {
            messages: Vec::new(),
            expected: expected.map(|text| Message::text_of(Speaker::Agent, text)),
            timeout_ms: 1,
        };
        let bare = ToolCallsRule {
            calls: vec![ExpectedCall { arguments: None, ..listed.clone() }],
            order: CallOrder::AnyOrder,
            by: CallBy::Agent,
            pick: CallPick::Any,
        };
        let checks = vec![
            Check::new(rule(CallOrder::AnyOrder), 1),
            Check::new(Rule::ToolCalls(bare), 1),
            Check::new(rule(CallOrder::Forbidden), 2),
        ];
        let step = Step { name: None, action: say(Some("Pizza")), checks, line: 1 };
        let cue = of_step(&step).expect("something is expected");
        assert_eq!((cue.text.as_str(), cue.tool_calls.len()), ("Pizza", 1));
        assert_eq!(cue.tool_calls[0].arguments, r#"{"mood":"Happy","place":"place","count":3}"#);
        let cue = of_step(&Step { action: say(None), ..step.clone() }).expect("a call is expected");
        assert_eq!((cue.text.as_str(), cue.tool_calls.len()), ("", 1));
        let condition =
            Check::new(Rule::SemanticCondition(check::SemanticCondition { condition: "mentions pizza".to_owned() }), 1);
        let events =
            Check::new(Rule::TelephonyEvents(check::TelephonyEvents { expected: vec!["end_call".to_owned()] }), 1);
        let cue = of_step(&Step { action: say(None), checks: vec![condition, events], ..step.clone() });
        let cue = cue.expect("a pattern is expected");
        assert_eq!(
            (cue.text.as_str(), cue.actions.as_slice()),
            ("To be clear, this mentions pizza.", &["end_call".to_owned()][..])
        );
        assert_eq!(of_step(&Step { action: say(None), checks: Vec::new(), ..step }), None);
    }
}
