//! Line-style expected turns, from the file to the finding: text, tool calls as a multiset, events of a telephone call.

use evaluate::Evaluator;
use record::{Finding, Turn, turn::ToolCall};
use serde_json::{Value, json};

use crate::fakes::{Judges, Scene, judged, turn};

/// The evaluators of one expected turn of the assistant.
fn evaluators(expected: &Value) -> Vec<Evaluator> {
    let mut assistant = expected.clone();
    assistant["role"] = json!("assistant");
    let text = json!([{ "role": "user", "text": "Hello" }, assistant]).to_string();
    let (documents, diagnostics) = formats::line::FORMAT.open(&text, "x.conversation.json");
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (script, diagnostics) = formats::line::FORMAT.read(&documents[0]);
    assert!(diagnostics.is_empty(), "{expected}: {diagnostics:?}");
    script.unwrap().scenario.steps[0].checks.iter().map(|check| evaluate::compile(check).unwrap()).collect()
}

/// A turn whose agent says `text`, calls tools (name, arguments, result) and acts.
fn actual(text: &str, calls: &[(&str, Value, Option<&str>)], actions: &[&str]) -> Turn {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments, result))| ToolCall {
        id: index.to_string(),
        name: (*name).to_owned(),
        arguments: arguments.to_string(),
        result: result.map(str::to_owned),
    });
    Turn {
        tool_calls: calls.collect(),
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        ..turn("Hello", text)
    }
}

/// The first finding that is not a pass.
async fn finding(expected: &Value, actual: Turn, judge: &[bool]) -> (Finding, String) {
    let judges = Judges::saying(judge.iter().map(|yes| if *yes { judged("yes", 0.9) } else { judged("no", 0.1) }));
    let scene = Scene { conversation: false, ..Scene::talked(vec![actual]) };
    let mut asked = 0;
    for evaluator in evaluators(expected) {
        let judgment = scene.judge_by(&evaluator, &judges).await;
        asked = judges.requests().len();
        if judgment.finding != Finding::Pass {
            assert_eq!(asked, judge.len(), "{expected}: {}", judgment.reason);
            return (judgment.finding, judgment.reason);
        }
    }
    assert_eq!(asked, judge.len(), "{expected}");
    (Finding::Pass, String::new())
}

#[tokio::test]
async fn texts() {
    // (expected, the agent's text, the judge's answers, finding)
    let rows: &[(Value, &str, &[bool], Finding)] = &[
        (json!("*"), "anything", &[], Finding::Pass),
        (json!("Hello"), " hello ", &[], Finding::Pass),
        (json!("Hello"), "Hi there", &[true], Finding::Pass),
        (json!("Hello"), "Bye", &[false], Finding::Fail),
        // An agent that says an asterisk does not match everything.
        (json!("Hello"), "*", &[false], Finding::Fail),
        (json!("<greets>"), "Good day", &[true], Finding::Pass),
        (json!("<greets>"), "No", &[false], Finding::Fail),
        (json!(["Hello", "*"]), "x", &[], Finding::Pass),
        (json!(["Hello", "Bye"]), "bye", &[], Finding::Pass),
        // The literal text is tried before the statement.
        (json!(["<greets>", "Bye"]), "bye", &[], Finding::Pass),
        (json!(["<greets>", "Bye"]), "x", &[false, true], Finding::Pass),
        (json!(["<greets>", "Bye"]), "x", &[false, false], Finding::Fail),
        (json!(""), "", &[], Finding::Pass),
        (json!(""), "I am still here", &[], Finding::Fail),
    ];
    for (expected, said, judge, wanted) in rows {
        let (found, reason) = finding(&json!({ "text": expected }), actual(said, &[], &[]), judge).await;
        assert_eq!(found, *wanted, "{expected} and {said:?}: {reason}");
    }
}

#[tokio::test]
async fn tool_calls() {
    let weather = |arguments: Value| json!({ "name": "get_weather", "arguments": arguments });
    let call = |arguments: Value| ("get_weather", arguments, None);
    type Row = (Value, Vec<(&'static str, Value, Option<&'static str>)>, &'static [bool], Result<(), &'static str>);
    let rows: Vec<Row> = vec![
        (json!([]), vec![], &[], Ok(())),
        (json!([]), vec![call(json!({}))], &[], Err("expected exactly 0 calls")),
        (json!([weather(json!({}))]), vec![], &[], Err("expected exactly 1 calls")),
        // Texts in arguments are compared like replies.
        (json!([weather(json!({ "at": "Rome" }))]), vec![call(json!({ "at": "rome" }))], &[], Ok(())),
        (json!([weather(json!({ "at": "Rome" }))]), vec![call(json!({ "at": "Roma" }))], &[true], Ok(())),
        (
            json!([weather(json!({ "at": "Rome" }))]),
            vec![call(json!({ "at": "Oslo" }))],
            &[false],
            Err("does not mean"),
        ),
        (json!([weather(json!({ "at": "*" }))]), vec![call(json!({ "at": ["any", "thing"] }))], &[], Ok(())),
        (json!([weather(json!({ "at": "*" }))]), vec![call(json!({}))], &[], Err("`at` is missing")),
        (json!([weather(json!({ "at": null }))]), vec![call(json!({}))], &[], Ok(())),
        (json!([weather(json!({ "at": null }))]), vec![call(json!({ "at": 3 }))], &[], Ok(())),
        (json!([weather(json!({}))]), vec![call(json!({ "at": 3 }))], &[], Err("`at` was not expected")),
        (json!([weather(json!({ "n": 1 }))]), vec![call(json!({ "n": "1" }))], &[], Err("expected 1")),
        (json!([weather(json!({ "n": [1, 2] }))]), vec![call(json!({ "n": [1.0, 2] }))], &[], Ok(())),
        // Objects are compared key by key, however deep.
        (json!([weather(json!({ "a": { "b": null } }))]), vec![call(json!({ "a": {} }))], &[], Ok(())),
        (
            json!([weather(json!({ "a": { "b": 1 } }))]),
            vec![call(json!({ "a": { "b": 2 } }))],
            &[],
            Err("argument `a.b`"),
        ),
        (json!([weather(json!({ "a": { "b": 1 } }))]), vec![call(json!({ "a": "b" }))], &[], Err("not a JSON object")),
        (
            json!([{ "name": "get_weather", "arguments": {}, "partial": true }]),
            vec![call(json!({ "at": 3 }))],
            &[],
            Ok(()),
        ),
        // Calls of one tool are a multiset: each answers one, in any order.
        (
            json!([weather(json!({ "n": 1 })), weather(json!({ "n": null }))]),
            vec![call(json!({ "n": 2 })), call(json!({ "n": 1 }))],
            &[],
            Ok(()),
        ),
        (
            json!([weather(json!({ "n": 1 })), weather(json!({ "n": 1 }))]),
            vec![call(json!({ "n": 1 })), call(json!({ "n": 2 }))],
            &[],
            Err("no call of"),
        ),
        // The seed's own example.
        (
            json!([{ "name": "get_weather", "arguments": {}, "result": { "temperature": null, "condition": "*" } }]),
            vec![("get_weather", json!({}), Some(r#"{"temperature": 61, "condition": "fog"}"#))],
            &[],
            Ok(()),
        ),
        (
            json!([{ "name": "get_weather", "arguments": {}, "result": { "condition": "*" } }]),
            vec![("get_weather", json!({}), Some(r#"{"temperature": 61, "condition": "fog"}"#))],
            &[],
            Err("`temperature` of the result was not expected"),
        ),
        // A result that is not written is not looked at.
        (json!([weather(json!({}))]), vec![("get_weather", json!({}), Some("61"))], &[], Ok(())),
        (
            json!([{ "name": "get_weather", "arguments": {}, "result": null }]),
            vec![("get_weather", json!({}), Some("61"))],
            &[],
            Ok(()),
        ),
        (
            json!([{ "name": "get_weather", "arguments": {}, "result": 61 }]),
            vec![call(json!({}))],
            &[],
            Err("its result is not known"),
        ),
    ];
    for (expected, calls, judge, wanted) in rows {
        let turn = actual("x", &calls, &[]);
        let (found, reason) = finding(&json!({ "text": "*", "tool_calls": expected }), turn, judge).await;
        match wanted {
            Ok(()) => assert_eq!(found, Finding::Pass, "{expected} and {calls:?}: {reason}"),
            Err(part) => {
                assert_eq!(found, Finding::Fail, "{expected} and {calls:?}: {reason}");
                assert!(reason.contains(part), "{expected} and {calls:?}: {reason}");
            }
        }
    }
}

#[tokio::test]
async fn telephony_events() {
    let zero = json!([{ "type": "dtmf", "button": "0" }]);
    let through = json!([{ "type": "transfer_call", "target_phone_number": "+1800" }, { "type": "end_call" }]);
    let rows: &[(&Value, &[&str], Finding)] = &[
        (&zero, &["dtmf 0"], Finding::Pass),
        (&zero, &["REPLY", "dtmf 0"], Finding::Pass),
        (&zero, &["dtmf 1"], Finding::Fail),
        (&zero, &["dtmf 0", "dtmf 0"], Finding::Fail),
        (&zero, &[], Finding::Fail),
        (&through, &["transfer_call +1800", "end_call"], Finding::Pass),
        (&through, &["end_call", "transfer_call +1800"], Finding::Fail),
    ];
    for (events, actions, wanted) in rows {
        let expected = json!({ "text": "*", "telephony_events": events });
        assert_eq!(finding(&expected, actual("x", &[], actions), &[]).await.0, *wanted, "{events} and {actions:?}");
    }
    // Actions that are not expected must not happen.
    assert_eq!(finding(&json!({ "text": "*" }), actual("x", &[], &["end_call"]), &[]).await.0, Finding::Fail);
}

fn facts(skipped: &str) -> Option<Value> {
    let path = cases::folder("line/similarity-facts.json", skipped)?;
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// Upstream's examples for its judge: each of ours is asked once, and the judge's answer is the finding.
#[tokio::test]
async fn the_examples_of_the_judges_prompt_are_asked_about() {
    let Some(facts) = facts("10 examples of Line's judge") else { return };
    let mut rows = 0;
    for (kind, written) in [("same_meaning", ""), ("statement", "<>")] {
        for example in facts["judge_prompt_examples"][kind].as_array().unwrap() {
            let [expected, said] = [0, 1].map(|index| example[index].as_str().unwrap());
            let expected = if written.is_empty() { expected.to_owned() } else { format!("<{expected}>") };
            let right = example[2].as_bool().unwrap();
            let found = finding(&json!({ "text": expected }), actual(said, &[], &[]), &[right]).await.0;
            assert_eq!(found == Finding::Pass, right, "{example}");
            rows += 1;
        }
    }
    assert_eq!(rows, 10);
}

/// Upstream's own tests of similarity; whether a judge is needed is one of the facts.
#[tokio::test]
async fn the_facts_of_likeness_hold() {
    let Some(facts) = facts("14 facts of Line's comparisons") else { return };
    let mut rows = 0;
    for fact in facts["is_similar_str"].as_array().unwrap().iter().chain(facts["is_similar_text"].as_array().unwrap()) {
        let (expected, result, judged) = (&fact[0], fact[2] == json!("pass"), fact[3] == json!(true));
        let all = |value: &Value| match value {
            Value::Array(list) => list.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
            text => vec![text.as_str().unwrap().to_owned()],
        };
        // The one deliberate difference: an agent that says an asterisk has not said everything.
        if fact[1] == json!(["*"]) {
            assert_eq!(finding(&json!({ "text": expected }), actual("*", &[], &[]), &[false]).await.0, Finding::Fail);
            rows += 1;
            continue;
        }
        // An agent says one thing; upstream's tests allow several, of which one must fit.
        let mut found = Vec::new();
        for said in all(&fact[1]) {
            let literal = all(expected).iter().any(|text| text == "*" || text.eq_ignore_ascii_case(&said));
            let judge: &[bool] = if judged && !literal { &[result] } else { &[] };
            found.push(finding(&json!({ "text": expected }), actual(&said, &[], &[]), judge).await.0);
        }
        assert_eq!(found.contains(&Finding::Pass), result, "{fact}");
        rows += 1;
    }
    for fact in facts["is_similar_dict"].as_array().unwrap() {
        let expected = json!({ "text": "*", "tool_calls": [{ "name": "t", "arguments": fact["expected"] }] });
        let result = fact["result"] == json!("pass");
        let judge: &[bool] = if fact["llm"] == json!(true) { &[result] } else { &[] };
        let found = finding(&expected, actual("x", &[("t", fact["actual"].clone(), None)], &[]), judge).await;
        assert_eq!(found.0 == Finding::Pass, result, "{fact}: {}", found.1);
        rows += 1;
    }
    assert_eq!(rows, 14);
}
