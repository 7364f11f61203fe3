//! Scores by the judge: read strictly, named after their model, and never the agent's fault.

use evaluate::{JudgePool as _, scorer::Toxicity};
use record::FailureKind;
use serde_json::json;

use crate::fakes::{Judges, SCOPE, unreachable};

#[tokio::test]
async fn a_judge_scores_in_the_form_asked_for() {
    let toxic = json!({
        "toxicity": 0.9, "severe_toxicity": 0.1, "obscene": 0.2, "identity_attack": 0, "insult": 0.8, "threat": 0,
        "sexual_explicit": 0,
    });
    let judges = Judges::saying([
        json!({ "similarity": 0.75 }).to_string(),
        json!({ "part": "tom" }).to_string(),
        json!({ "part": " " }).to_string(),
        json!({ "follows": 0.5 }).to_string(),
        toxic.to_string(),
    ]);
    let scorer = judges.scorer(SCOPE);
    let score = scorer.similarity("one", "two").await.unwrap();
    assert_eq!((score.value, &*score.model), (0.75, "judge script"));
    let ballot = score.ballot.unwrap();
    assert_eq!((&*ballot.criterion, &*ballot.verdict, &*ballot.model), ("similarity", "0.75", "script"));
    assert_eq!(scorer.answer("Who?", "I am Tom.").await.unwrap().text, "Tom.");
    assert_eq!(scorer.answer("Where?", "I am Tom.").await.unwrap().text, "");
    assert_eq!(scorer.next_sentence("Hello", "Hi").await.unwrap().value, 0.0);
    let toxicity: Toxicity = scorer.toxicity("You fool").await.unwrap();
    assert_eq!(toxicity.named().nth(4), Some(("insult", 0.8)));
    let requests = judges.requests();
    assert!(requests.iter().all(|request| request.temperature == Some(0.0) && request.schema.is_some()));
    assert!(requests[0].messages[1].content.contains(r#"{"first":"one","second":"two"}"#));
}

#[tokio::test]
async fn an_invalid_score_is_asked_again_and_is_the_judges_fault() {
    let rows = ["0.9", "It is 0.9", r#"{"similarity": 2}"#, r#"{"similarity": "high"}"#, r#"{"score": 0.9}"#];
    for said in rows {
        let judges = Judges::saying([said; 3]);
        let error = judges.scorer(SCOPE).similarity("one", "two").await.unwrap_err();
        assert_eq!((error.kind(), judges.requests().len()), (FailureKind::JudgeMalformed, 3), "{said}");
    }
    let made_up = json!({ "part": "Bergen" }).to_string();
    let judges = Judges::saying([made_up.clone(), made_up, json!({ "part": "Oslo" }).to_string()]);
    assert_eq!(judges.scorer(SCOPE).answer("Where?", "In Oslo").await.unwrap().text, "Oslo");
    let judges = Judges::answering([Err(unreachable())]);
    assert_eq!(judges.scorer(SCOPE).toxicity("hm").await.unwrap_err().kind(), FailureKind::JudgeFailed);
}
