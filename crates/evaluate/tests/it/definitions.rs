//! Checks that do not compile: each gives its reason, and none panics.

use evaluate::compile;
use scenario::{
    Check,
    check::{
        self, ArgumentRule, CallOrder, CallPick, Criterion, ExpectedCall, LengthUnit, RubricRule, Rule, ToolCallsRule,
        bounded::{Amount, Cosine, Dollars, Millis},
    },
};
use serde_json::json;

fn calls(order: CallOrder, calls: Vec<ExpectedCall>) -> Rule {
    Rule::ToolCalls(ToolCallsRule { calls, order, pick: CallPick::Any, by: Default::default() })
}

fn rubric(weights: &[f64], threshold: f64) -> Rule {
    let criterion = |weight: &f64| Criterion {
        name: "polite".to_owned(),
        text: String::new(),
        weight: *weight,
        anchors: Default::default(),
        blocking: false,
    };
    let criteria = weights.iter().map(criterion).collect();
    Rule::Rubric(RubricRule { criteria, threshold, model_type: None, batch: false })
}

#[test]
fn bad_definitions_are_refused() {
    let text = |text: &str| text.to_owned();
    let latency =
        || vec![Check::new(Rule::Latency(check::Latency { max_total_ms: Some(Millis(1)), max_ttft_ms: None }), 1)];
    let rows = [
        (Rule::Contains(check::Contains { values: vec![], any: true, ignore_case: false }), "empty `values`"),
        (Rule::Contains(check::Contains { values: vec![text("")], any: false, ignore_case: false }), "empty `values`"),
        (Rule::StartsWith(check::StartsWith { values: vec![text(" ")], ignore_case: false }), "empty `values`"),
        (Rule::Equals(check::Equals { values: vec!["x".repeat(40_000)], ignore_case: true }), "too long"),
        (
            Rule::RegexMatch(check::RegexMatch { pattern: text("("), case_sensitive: false, captures: vec![] }),
            "compile the pattern",
        ),
        (
            Rule::RegexMatch(check::RegexMatch {
                pattern: text("a"),
                case_sensitive: false,
                captures: vec![(text("b"), latency())],
            }),
            "group `b`",
        ),
        (Rule::JsonCheck(check::JsonCheck { fields: vec![] }), "empty `fields`"),
        (Rule::JsonCheck(check::JsonCheck { fields: vec![(text("a"), vec![])] }), "empty `fields`"),
        (
            Rule::JsonCheck(check::JsonCheck { fields: vec![(text("a"), latency())] }),
            "`latency` in `fields`: it is not about a text",
        ),
        (Rule::JsonPath(check::JsonPath { path: text("$[?"), checks: vec![] }), "not a JSON path"),
        (Rule::JsonSchema(check::JsonSchema { schema: json!({ "type": 3 }) }), "`json_schema`"),
        (
            Rule::JsonSchema(check::JsonSchema { schema: json!({ "$ref": "https://example.invalid/x.json" }) }),
            "`json_schema`",
        ),
        (Rule::JsonSchema(check::JsonSchema { schema: json!({ "pattern": "(?=a)" }) }), "`json_schema`"),
        (Rule::Number(check::Number { min: None, max: None, path: None }), "empty `min`"),
        (Rule::Number(check::Number { min: Some(2.0), max: Some(1.0), path: None }), "2 is more than the maximum, 1"),
        (Rule::Number(check::Number { min: Some(f64::NAN), max: None, path: None }), "not a number"),
        (
            Rule::Length(check::Length { unit: LengthUnit::Words, min: Some(Amount(2)), max: Some(Amount(1)) }),
            "more than the maximum",
        ),
        (Rule::Language(check::Language { code: text("klingon") }), "language `klingon`"),
        (Rule::Latency(check::Latency { max_total_ms: None, max_ttft_ms: None }), "empty"),
        (Rule::Spend(check::Spend { max_usd: Some(Dollars(-1.0)), max_tokens: None }), "not an amount of money"),
        (Rule::SemanticCondition(check::SemanticCondition { condition: text(" ") }), "empty `condition`"),
        (Rule::SemanticSimilar(check::SemanticSimilar { expected: vec![], threshold: None }), "empty `expected`"),
        (Rule::Similarity(check::Similarity { expected: vec![text("a")], threshold: Cosine(2.0) }), "between -1 and 1"),
        (rubric(&[], 0.5), "empty `criteria`"),
        (rubric(&[0.0], 0.5), "not all of them are 0"),
        (rubric(&[1.0], 1.5), "between 0 and 1"),
        (calls(CallOrder::AnyOrder, vec![]), "empty `calls`"),
        (
            calls(
                CallOrder::Exact,
                vec![ExpectedCall {
                    name: text("find"),
                    arguments: Some(vec![(text("id"), ArgumentRule::Checks(latency()))]),
                    partial: false,
                    result: None,
                }],
            ),
            "`latency` in `argument_checks`",
        ),
    ];
    for (rule, part) in rows {
        let error = compile(&Check::new(rule.clone(), 1)).expect_err(&format!("{rule:?}"));
        assert!(error.to_string().contains(part), "{part:?} in {error}");
        assert!(!error.help().is_empty());
    }
}

/// No author can make an evaluation run forever or fill the memory, whatever the agent says.
#[tokio::test]
async fn hostile_replies_end() {
    use crate::{
        fakes::{Judges, Scene},
        rows,
    };
    let huge = "9,".repeat(1 << 15);
    let deep = "[".repeat(1 << 17);
    for reply in [huge.as_str(), deep.as_str(), "\u{0}\u{202e}", "{\"a\": 1e999}"] {
        for row in rows::all() {
            let check = rows::read(row.check);
            if check.rule.is_about_text() && row.judges.is_empty() {
                let evaluator = compile(&check).unwrap();
                if !evaluator.asks_a_model() {
                    Scene::replied(reply).judge_by(&evaluator, &Judges::default()).await;
                }
            }
        }
    }
}
