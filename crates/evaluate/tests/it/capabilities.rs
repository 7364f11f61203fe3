//! Capabilities of `llm_judge`: open answers, and quotes on one sheet.

use record::{FailureKind, Finding};
use scenario::check::{Expected, JudgeRule, Rule};
use serde_json::{Value, json};

use crate::fakes::{Judges, Scene, asks, ballot, turn};

/// Capabilities that do not apply or are undecided count in no share, in every way of asking.
#[tokio::test]
async fn open_capabilities_are_no_missing_ones() {
    let all = ["one", "two", "three", "four"].map(str::to_owned).to_vec();
    let rows: [(&[&str], Option<f64>, &str); 4] = [
        (
            &["yes", "no", "not_applicable", "cannot_tell"],
            Some(0.5),
            "1 of 2 capabilities achieved, 1 not applicable, 1 undecided",
        ),
        (&["yes", "cannot_tell", "yes", "yes"], Some(1.0), "3 of 3 capabilities achieved, 1 undecided"),
        (
            &["no", "not_applicable", "not_applicable", "not_applicable"],
            Some(0.0),
            "0 of 1 capabilities achieved, 3 not applicable",
        ),
        (&["cannot_tell"; 4], None, "0 of 0 capabilities achieved, 4 undecided"),
    ];
    for (words, score, counts) in rows {
        let one_by_one = std::iter::once("yes").chain(words.iter().copied()).map(|word| ballot("judgment", word, 0.9));
        let entry = |word: &&str| json!({ "reasoning": "r", "quotes": [], "judgment": word, "confidence": 0.9 });
        let entries: Vec<Value> = words.iter().map(entry).collect();
        let mut sheet: Value = serde_json::from_str(&ballot("judgment", "yes", 0.9)).unwrap();
        sheet["capabilities"] = json!(entries);
        let own = words.iter().map(|word| match *word {
            "yes" | "no" => json!({ "achieved": *word == "yes", "reasoning": "r" }),
            open => json!({ "achieved": open, "reasoning": "r" }),
        });
        let own = json!({ "judgment": "yes", "confidence": 0.9, "capabilities": own.collect::<Vec<_>>() });
        let rule = JudgeRule { capabilities: all.clone(), ..asks("Is it?", Expected::Yes) };
        let schema = Some(json!({ "type": "object" }));
        for (rule, replies, votes) in [
            (rule.clone(), one_by_one.collect(), 5),
            (JudgeRule { batch: true, ..rule.clone() }, vec![sheet.to_string()], 5),
            (JudgeRule { json_schema: schema, ..rule }, vec![own.to_string()], 1),
        ] {
            let judgment = Scene::replied("Hi.").judge(Rule::LlmJudge(rule.clone()), &Judges::saying(replies)).await;
            assert_eq!((judgment.finding, judgment.score), (Finding::Pass, score), "{rule:?}\n{judgment:?}");
            assert!(judgment.reason.contains(counts), "{}", judgment.reason);
            assert_eq!(judgment.ballots.len(), votes, "{rule:?}");
        }
    }
}

/// A quote about a capability is looked up as any other.
#[tokio::test]
async fn quotes_on_a_sheet_are_verified() {
    let sheet = |text: &str| {
        let quote = json!([{ "turn": 1, "who": "agent", "text": text }]);
        let entry = json!({ "reasoning": "r", "quotes": quote, "judgment": "yes", "confidence": 0.9 });
        let mut sheet: Value = serde_json::from_str(&ballot("judgment", "yes", 0.9)).unwrap();
        sheet["capabilities"] = json!([entry]);
        sheet.to_string()
    };
    let rule = || JudgeRule { capabilities: vec!["greets".to_owned()], batch: true, ..asks("Is it?", Expected::Yes) };
    let scene = || Scene::talked(vec![turn("Hello", "Good morning to you.")]);
    let told = scene().judge(Rule::LlmJudge(rule()), &Judges::saying([sheet("good morning")])).await;
    assert!(told.ballots[1].reason.contains("[turn 1, agent: \"good morning\"]"), "{told:?}");
    let lies = Judges::saying([sheet("good evening"), sheet("good evening")]);
    let lied = scene().judge(Rule::LlmJudge(rule()), &lies).await;
    assert_eq!((lied.finding, lied.failure), (Finding::Inconclusive, Some(FailureKind::EvidenceNotFound)));
}
