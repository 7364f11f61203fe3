//! The votes that arrived, after a question of the check fails.

use record::{FailureKind, Finding};
use scenario::plan::JudgeGate;
use serde_json::json;

use crate::{
    fakes::{Judges, Scene, ballot, turn, unreachable},
    rows::read,
};

/// Votes that were paid for are in the record, although a later question of the check got no answer.
#[tokio::test]
async fn earlier_votes_stay_if_a_later_question_fails() {
    const KINDS: [(&str, &str, &str); 5] = [
        ("type: llm_judge\nprompt: Is it kind?\nexpected: 'yes'\ncapabilities: [greets]", "yes", ""),
        ("type: rubric\ncriteria: [{name: kind}, {name: brief}]", "met", "kind"),
        (
            "type: conversation_flow\nrequired_patterns: [question_then_answer, problem_then_solution]",
            "yes",
            "question_then_answer",
        ),
        ("type: context_retention\ntest_memory_of: ['4711']\nretention_turns: 2", "yes", "4711"),
        ("type: similarity\nexpected: [Hello, Bye]\nthreshold: 1", "0.5", "similarity"),
    ];
    let turns = || vec![turn("My order is 4711", "Thank you."), turn("And?", "Today."), turn("So?", "Yes.")];
    let nobody = JudgeGate { min_kappa: Some(0.6), measured: Vec::new() };
    for (kind, word, criterion) in KINDS {
        let first = match kind {
            _ if kind.contains("similarity") => json!({ "similarity": 0.5 }).to_string(),
            _ if kind.contains("rubric") => ballot("verdict", word, 0.9),
            _ => ballot("judgment", word, 0.9),
        };
        let judges = Judges::answering([Ok(first), Err(unreachable())]).with_gate(Some(nobody.clone()));
        let judgment = Scene::talked(turns()).judge_by(&evaluate::compile(&read(kind)).unwrap(), &judges).await;
        assert_eq!((judgment.finding, judgment.failure), (Finding::Error, Some(FailureKind::JudgeFailed)), "{kind}");
        let votes: Vec<_> = judgment.ballots.iter().map(|it| (it.criterion.as_str(), it.verdict.as_str())).collect();
        assert_eq!(votes, [(criterion, word)], "{kind}");
        assert!(judgment.required, "a judge that fails counts, measured or not: {kind}");
    }
}

/// Votes on a question that gets too few of them are in the record, too: of three votes, one arrives.
#[tokio::test]
async fn votes_stay_if_their_own_question_fails() {
    let met = || ballot("verdict", "met", 0.9);
    let yes = || ballot("judgment", "yes", 0.9);
    let entry = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let rubric = json!({ "criteria": [entry(&met()), entry(&met())] }).to_string();
    let mut sheet = entry(&yes());
    sheet["capabilities"] = json!([entry(&ballot("judgment", "no", 0.9))]);
    let rows = [
        ("type: semantic_condition\ncondition: It is polite", yes(), vec![("", "yes")]),
        ("type: llm_judge\nprompt: Is it kind?\nexpected: 'yes'", yes(), vec![("", "yes")]),
        (
            "type: llm_judge\nprompt: Is it kind?\nexpected: 'yes'\ncapabilities: [greets]\nbatch: true",
            sheet.to_string(),
            vec![("", "yes"), ("greets", "no")],
        ),
        ("type: rubric\ncriteria: [{name: kind}]", met(), vec![("kind", "met")]),
        (
            "type: rubric\ncriteria: [{name: kind}, {name: brief}]\nbatch: true",
            rubric,
            vec![("kind", "met"), ("brief", "met")],
        ),
        (
            "type: conversation_flow\nrequired_patterns: [question_then_answer]",
            yes(),
            vec![("question_then_answer", "yes")],
        ),
        ("type: context_retention\ntest_memory_of: ['4711']\nretention_turns: 2", yes(), vec![("4711", "yes")]),
    ];
    for (kind, first, votes) in rows {
        let turns = vec![turn("My order is 4711", "Thank you."), turn("And?", "Today.")];
        let judges = Judges::answering([Ok(first), Err(unreachable()), Err(unreachable())]);
        let evaluator = evaluate::compile(&read(&format!("{kind}\nvotes: 3"))).unwrap();
        let judgment = Scene::talked(turns).judge_by(&evaluator, &judges).await;
        assert_eq!((judgment.finding, judgment.failure), (Finding::Error, Some(FailureKind::JudgeFailed)), "{kind}");
        let told: Vec<_> = judgment.ballots.iter().map(|it| (it.criterion.as_str(), it.verdict.as_str())).collect();
        assert_eq!(told, votes, "{kind}");
        assert!(judgment.reason.ends_with("(1 of 3 votes arrived)"), "{}", judgment.reason);
        assert!(judgment.jury.is_some() && judgment.required, "{kind}");
    }
}
