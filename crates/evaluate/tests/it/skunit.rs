//! skUnit's checks as they are written and judged, and upstream's two files that must fail.

use record::{Finding, turn::ToolCall};
use scenario::Check;
use serde_json::{Value, json};

use crate::fakes::{Judges, Scene, judged};

/// The checks of a page's answers; empty if the page has errors.
fn checks(page: &str) -> Vec<Check> {
    let (documents, found) = formats::skunit::FORMAT.open(page, "x.md");
    assert!(found.is_empty(), "{found:?}");
    let scripts = documents.iter().filter_map(|document| formats::skunit::FORMAT.read(document).0);
    scripts.flat_map(|script| script.scenario.steps).flat_map(|step| step.checks).collect()
}

fn written(kind: &str, body: &str) -> Vec<Check> {
    checks(&format!("## [USER]\nHi\n## [AGENT]\nHo\n### CHECK {kind}\n{body}"))
}

async fn findings_of(checks: &[Check], scene: &Scene, judges: &Judges) -> Vec<Finding> {
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
        let found = findings_of(&written(kind, body), &Scene::replied(reply), &Judges::default()).await;
        assert_eq!(found, [expected], "{kind} {body} of {reply:?}");
    }
}

#[tokio::test]
async fn the_two_wrong_files_fail_and_the_right_ones_pass() {
    let samples = "skunit/head-0b21ae14/src/skUnit.Tests/RunnerTests/Samples";
    let Some(folder) = cases::folder(samples, "4 of upstream's samples") else { return };
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let menu = || scene("Pizza", vec![called("GetFoodMenu", &json!({ "mood": "Happy" }))]);
    let tall = || Scene::replied("Yes, the Eiffel Tower is 330 metres tall.");
    let rows = [
        ("GetFoodMenuChat.md", menu(), Judges::default(), Finding::Pass),
        ("GetFoodMenuChatJson.md", menu(), Judges::default(), Finding::Pass),
        ("GetFoodMenuChatJsonWrong.md", menu(), Judges::default(), Finding::Fail),
        ("EiffelTallChatWrong.md", tall(), Judges::saying([judged("no", 0.1)]), Finding::Fail),
    ];
    for (name, scene, judges, expected) in rows {
        assert_eq!(findings_of(&checks(&page(name)), &scene, &judges).await, [expected], "{name}");
    }
}

#[tokio::test]
async fn a_call_is_answered_by_a_model_and_its_result_is_checked() {
    let page = "## [USER]\nIs Eiffel tall?\n## CALL My.GetIntent\n{\"options\": \"Happy,Question\"}\n\
        ### CHECK ContainsAny\nQuestion\n## [AGENT]\nYes";
    for (result, expected) in [("Question", Finding::Pass), ("Happy", Finding::Fail)] {
        let judges = Judges::saying([json!({ "result": result }).to_string()]);
        let found = findings_of(&checks(page), &Scene::replied("Yes"), &judges).await;
        assert_eq!(found, [expected], "{result}");
        assert_eq!(judges.model_types(), [Some("My".to_owned())]);
        let asked = &judges.requests()[0].messages[1].content;
        assert!(asked.contains("`My.GetIntent`") && asked.contains("\"input\":\"Is Eiffel tall?\""), "{asked}");
    }
    let judges = Judges::saying(["prose", "more prose", "and more"]);
    assert_eq!(findings_of(&checks(page), &Scene::replied("Yes"), &judges).await, [Finding::Inconclusive]);
}

/// `options` lists the possible results of a function: any other result is not the agent's fault.
#[tokio::test]
async fn a_result_that_is_none_of_the_options_is_no_fail() {
    let page = |options: &str| {
        format!(
            "## [USER]\nIs Eiffel tall?\n## CALL My.GetIntent\n{{\"options\": \"{options}\"}}\n\
            ### CHECK Equals\nQuestion\n## [AGENT]\nYes"
        )
    };
    let result = |result: &str| json!({ "result": result }).to_string();
    let rows = [
        ("Happy, Question", result("Question"), Finding::Pass),
        ("Happy, Question", result("question."), Finding::Pass),
        ("Happy, Question", "Question".to_owned(), Finding::Pass),
        ("Happy, Question", result("Happy"), Finding::Fail),
        ("Happy, Question", result("This holds, see \"Yes\"."), Finding::Inconclusive),
        ("Happy, Question", result("It is a question of happiness."), Finding::Inconclusive),
        ("Happy, Question", result(""), Finding::Inconclusive),
        // Without options any text may be the result.
        (" , ", result("It is a question."), Finding::Fail),
    ];
    for (options, reply, expected) in rows {
        let judges = Judges::saying([reply.clone(), reply.clone(), reply.clone()]);
        let found = findings_of(&checks(&page(options)), &Scene::replied("Yes"), &judges).await;
        assert_eq!(found, [expected], "{options} {reply}");
    }
}
