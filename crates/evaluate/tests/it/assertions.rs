//! Every row of skUnit's own assertion tests (mehrandvd/skunit @ 0b21ae14, MIT), if the facts are present.

use record::{Finding, turn::ToolCall};
use scenario::Check;
use serde_json::Value;

use crate::fakes::{Judges, Scene, judged, turn};

/// Upstream compares `"value2"` with `" value2"`; the list's author meant the value.
const TRIMMED: &str = "result_user_expects";

/// `None`: the reader refuses it.
fn read(kind: &str, body: &str) -> Option<Check> {
    let text = format!("# SCENARIO a\n\n## [USER]\nhi\n\n## [AGENT]\nhello\n\n### CHECK {kind}\n{body}\n");
    let (documents, _) = formats::skunit::FORMAT.open(&text, "a.skunit.md");
    let (script, _) = formats::skunit::FORMAT.read(documents.first()?);
    script?.scenario.steps.first()?.checks.first().cloned()
}

#[tokio::test]
async fn every_row_is_as_its_users_expect() {
    let Some(path) = cases::folder("skunit/assertion-facts.json", "15 facts about assertions") else { return };
    let facts: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let rows = |name: &str| facts[name].as_array().unwrap().clone();
    let (mut count, first) = (0, rows("json_check")[0].clone());
    for row in rows("json_check") {
        let spec = match &row["spec"] {
            Value::String(_) => format!("```json\n{}\n```", first["spec"]),
            spec => spec.to_string(),
        };
        let answer = row["answer_text"].as_str().map(str::to_owned);
        let answer = answer.unwrap_or_else(|| row.get("answer").unwrap_or(&first["answer"]).to_string());
        judge("JsonCheck", &spec, &Scene::replied(&answer), row["result"].as_str().unwrap()).await;
        count += 1;
    }
    for row in rows("function_call") {
        let spec = row["spec_text"].as_str().map_or_else(|| row["spec"].to_string(), str::to_owned);
        let mut turn = turn("hi", "Done.");
        for (index, call) in row["calls"].as_array().into_iter().flatten().enumerate() {
            turn.tool_calls.push(ToolCall {
                id: index.to_string(),
                name: call["name"].as_str().unwrap().to_owned(),
                arguments: call["args"].to_string(),
                result: call["result"].as_str().map(str::to_owned),
            });
        }
        let scene = Scene { turns: vec![turn], ..Scene::replied("Done.") };
        let expected = row.get("result").or_else(|| row.get(TRIMMED)).and_then(Value::as_str).unwrap();
        judge("FunctionCall", &spec, &scene, expected).await;
        count += 1;
    }
    // The judge's answer decides the finding; which texts are similar depends on the model.
    for row in rows("semantic_similar") {
        let similar = row[2].as_bool().unwrap();
        let check = read("SemanticSimilar", row[1].as_str().unwrap()).unwrap();
        let judges = Judges::saying([judged(if similar { "yes" } else { "no" }, 0.5)]);
        let judgment =
            Scene::replied(row[0].as_str().unwrap()).judge_by(&evaluate::compile(&check).unwrap(), &judges).await;
        assert_eq!(judgment.finding == Finding::Pass, similar, "{row}: {}", judgment.reason);
        count += 1;
    }
    assert_eq!(count, 15);
}

async fn judge(kind: &str, spec: &str, scene: &Scene, expected: &str) {
    let check = read(kind, spec);
    let Some(check) = check else {
        assert_eq!(expected, "invalid-spec", "{spec} is refused");
        return;
    };
    let evaluator = evaluate::compile(&check).unwrap();
    let judgment = scene.judge_by(&evaluator, &Judges::default()).await;
    let found = match (expected, judgment.finding) {
        ("parses", _) => "parses",
        (_, Finding::Pass) => "pass",
        (_, Finding::Fail) => "fail",
        _ => "neither",
    };
    assert_eq!(found, expected, "{spec}: {}", judgment.reason);
}
