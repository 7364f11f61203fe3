//! skUnit's checks as they are written and judged: the facts of upstream's tests, and its two files that must fail.

use record::{Finding, turn::ToolCall};
use scenario::{Check, Format};
use serde_json::{Value, json};

use crate::fakes::{Judges, Scene, yes_no};

/// The checks of a page's answers; nothing where the page has errors.
fn checks(page: &str) -> Vec<Check> {
    let (documents, found) = Format::Skunit.open(page, "x.md");
    assert!(found.is_empty(), "{found:?}");
    let scripts = documents.iter().filter_map(|document| Format::Skunit.read(document).0);
    scripts.flat_map(|script| script.scenario.steps).flat_map(|step| step.checks).collect()
}

fn written(kind: &str, body: &str) -> Vec<Check> {
    checks(&format!("## [USER]\nHi\n## [AGENT]\nHo\n### CHECK {kind}\n{body}"))
}

async fn judged(checks: &[Check], scene: &Scene, judges: &Judges) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in checks {
        findings.push(scene.judge_by(&evaluate::compile(check).unwrap(), judges).await.finding);
    }
    findings
}

fn called(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments: arguments.to_string(), result: None }
}

fn scene(reply: &str, calls: Vec<ToolCall>) -> Scene {
    let mut scene = Scene::replied(reply);
    scene.turns[0].tool_calls = calls;
    scene
}

#[tokio::test]
async fn each_kind_judges_as_it_is_written() {
    use Finding::{Fail, Pass};
    let rows = [
        ("ContainsAll", "happy, day ،good", "a good, happy day", Pass),
        ("Contain", "happy, Day", "a happy day", Fail),
        ("ContainsAny", "night,day,", "a happy day", Pass),
        ("ContainsAny", "night,", "a happy day", Fail),
        ("Equal", "Happy day", " Happy day\n", Pass),
        ("ExactMatch", "Happy day", "happy day", Fail),
        ("IsAnyOf", "yes, no", "no", Pass),
        ("oneOf", "yes, no", "nope", Fail),
        ("NotEmpty", "", "x", Pass),
        ("HasValue", "", " \n", Fail),
        ("IsEmpty", "", " \n", Pass),
        ("Json", r#"{"age": ["Equals", "30"], "ok": "true"}"#, r#"Here: {"age": 30, "ok": true}"#, Pass),
        ("JsonCheck", r#"{"a": {"b": ["Contains", "x"]}}"#, r#"{"a": {"b": "xyz"}}"#, Pass),
        ("JsonCheck", r#"{"a": ["NotEmpty"]}"#, r#"{"b": 1}"#, Fail),
    ];
    for (kind, body, reply, expected) in rows {
        let found = judged(&written(kind, body), &Scene::replied(reply), &Judges::default()).await;
        assert_eq!(found, [expected], "{kind} {body} of {reply:?}");
    }
}

#[tokio::test]
async fn upstreams_facts_hold() {
    let Some(cases) = std::env::var_os("GABFEST_CASES") else {
        eprintln!("SKIPPED: the facts of skunit/assertion-facts.json were not looked at, GABFEST_CASES is not set");
        return;
    };
    let path = std::path::PathBuf::from(cases).join("skunit/assertion-facts.json");
    let facts: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    json_facts(facts["json_check"].as_array().unwrap()).await;
    call_facts(facts["function_call"].as_array().unwrap()).await;
    for fact in facts["semantic_similar"].as_array().unwrap() {
        let (said, expected, alike) = (fact[0].as_str().unwrap(), fact[1].as_str().unwrap(), fact[2] == true);
        let judges = Judges::saying([yes_no(if alike { "yes" } else { "no" }, 0.9)]);
        let found = judged(&written("SemanticSimilar", expected), &Scene::replied(said), &judges).await;
        assert_eq!(found, [if alike { Finding::Pass } else { Finding::Fail }], "{fact}");
        let asked: String = judges.requests()[0].messages.iter().map(|message| message.content.as_str()).collect();
        assert!(asked.contains(said) && asked.contains(expected), "{asked}");
    }
}

async fn json_facts(facts: &[Value]) {
    let mut answer = Value::Null;
    for fact in facts {
        let body = match &fact["spec"] {
            // The second fact is the first in a fence.
            Value::String(_) => format!("```json\n{}\n```", facts[0]["spec"]),
            spec => spec.to_string(),
        };
        let checks = written("JsonCheck", &body);
        if fact["result"] == "invalid-spec" {
            assert!(checks.is_empty(), "{fact}");
            continue;
        }
        if !fact["answer"].is_null() {
            answer = fact["answer"].clone();
        }
        let reply = fact["answer_text"].as_str().map_or_else(|| answer.to_string(), str::to_owned);
        let found = judged(&checks, &Scene::replied(&reply), &Judges::default()).await;
        let expected = if fact["result"] == "pass" { Finding::Pass } else { Finding::Fail };
        assert_eq!(found, [expected], "{fact}");
    }
}

async fn call_facts(facts: &[Value]) {
    for fact in facts {
        let body = fact["spec_text"].as_str().map_or_else(|| fact["spec"].to_string(), str::to_owned);
        let checks = written("FunctionCall", &body);
        assert_eq!(checks.len(), 1, "{fact}");
        let calls = fact["calls"].as_array().into_iter().flatten();
        let calls: Vec<ToolCall> = calls.map(|call| called(call["name"].as_str().unwrap(), &call["args"])).collect();
        // What upstream fails by a bug, its users expect to pass.
        let passes = fact["result"] == "pass" || fact["result_user_expects"] == "pass";
        if !calls.is_empty() {
            let expected = if passes { Finding::Pass } else { Finding::Fail };
            assert_eq!(judged(&checks, &scene("x", calls), &Judges::default()).await, [expected], "{fact}");
        }
    }
}

#[tokio::test]
async fn the_two_wrong_files_fail_and_the_right_ones_pass() {
    let Some(cases) = std::env::var_os("GABFEST_CASES") else {
        eprintln!("SKIPPED: 4 of upstream's samples were not judged, GABFEST_CASES is not set");
        return;
    };
    let folder = std::path::PathBuf::from(cases).join("skunit/head-0b21ae14/src/skUnit.Tests/RunnerTests/Samples");
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let menu = || scene("Pizza", vec![called("GetFoodMenu", &json!({ "mood": "Happy" }))]);
    let tall = || Scene::replied("Yes, the Eiffel Tower is 330 metres tall.");
    let rows = [
        ("GetFoodMenuChat.md", menu(), Judges::default(), Finding::Pass),
        ("GetFoodMenuChatJson.md", menu(), Judges::default(), Finding::Pass),
        ("GetFoodMenuChatJsonWrong.md", menu(), Judges::default(), Finding::Fail),
        ("EiffelTallChatWrong.md", tall(), Judges::saying([yes_no("no", 0.9)]), Finding::Fail),
    ];
    for (name, scene, judges, expected) in rows {
        assert_eq!(judged(&checks(&page(name)), &scene, &judges).await, [expected], "{name}");
    }
}

#[tokio::test]
async fn a_call_is_answered_by_a_model_and_its_result_is_checked() {
    let page = "## [USER]\nIs Eiffel tall?\n## CALL My.GetIntent\n{\"options\": \"Happy,Question\"}\n\
        ### CHECK ContainsAny\nQuestion\n## [AGENT]\nYes";
    for (result, expected) in [("Question", Finding::Pass), ("Happy", Finding::Fail)] {
        let judges = Judges::saying([json!({ "result": result }).to_string()]);
        let found = judged(&checks(page), &Scene::replied("Yes"), &judges).await;
        assert_eq!(found, [expected], "{result}");
        assert_eq!(judges.model_types(), [Some("My".to_owned())]);
        let asked = &judges.requests()[0].messages[1].content;
        assert!(asked.contains("`My.GetIntent`") && asked.contains("\"input\":\"Is Eiffel tall?\""), "{asked}");
    }
    let judges = Judges::saying(["prose", "more prose", "and more"]);
    assert_eq!(judged(&checks(page), &Scene::replied("Yes"), &judges).await, [Finding::Inconclusive]);
}
