//! Words of conversations that are not kept: only they are gone, and no figure changes.

use record::{Summary, Verdict};
use scenario::plan::Transcripts;
use serde_json::json;

use super::house::{self, House};

/// 600 conversations of which about a third fails, and how many turns of each are kept.
async fn played(transcripts: Transcripts) -> (Summary, Vec<(Verdict, bool)>) {
    let mut house = House::open().await;
    let behaviour = json!({ "kind": "mock", "mock": { "pass": [{ "probability": 0.8 }], "latency": { "ms": 300 } } });
    let worker = house.hire(&serde_json::from_value(behaviour).unwrap(), 20);
    let helps = json!([{ "type": "llm_judge", "prompt": "Does it help?", "expected": "yes" }]);
    let steps = json!([
        { "name": "asks", "input": "I want my money back for order W-4711.", "evaluations": helps },
        { "name": "thanks", "input": "Thank you, and where is W-4712?", "evaluations": helps },
    ]);
    let mut plan = house::plan(&steps, 600);
    plan.transcripts = transcripts;
    let run = house.submit(&plan).await;
    house.followed(&run).await;
    let kept = house.kept(&run).await;
    let kept = kept.into_iter().map(|(trial, turns)| {
        assert!(trial.turns > 0 && (turns == 0 || turns == trial.turns as usize), "all or nothing: {turns}");
        (trial.verdict, turns > 0)
    });
    let (kept, summary) = (kept.collect(), house.summary(&run).await);
    worker.drained().await;
    house.close().await;
    (summary, kept)
}

#[tokio::test(start_paused = true)]
async fn words_of_conversations_that_passed_are_not_kept_and_all_figures_are() {
    let (all, kept_of_all) = played(Transcripts::All).await;
    assert!(kept_of_all.iter().all(|(_, kept)| *kept) && all.transcripts.is_none());
    let passed = kept_of_all.iter().filter(|(verdict, _)| *verdict == Verdict::Pass).count();
    assert!((200..=500).contains(&passed), "{passed}");
    let (failures, kept) = played(Transcripts::Failures).await;
    assert!(kept.iter().all(|(verdict, kept)| *kept == (*verdict != Verdict::Pass)), "{kept:?}");
    assert_eq!(failures.transcripts.map(|of| of.dropped), Some(passed as u64));
    let (sample, kept) = played(Transcripts::Sample).await;
    let sampled = kept.iter().filter(|(verdict, kept)| *verdict == Verdict::Pass && *kept).count();
    assert!((1..=15).contains(&sampled), "about one in a hundred: {sampled}");
    assert!(kept.iter().all(|(verdict, kept)| *kept || *verdict == Verdict::Pass));
    assert_eq!(sample.transcripts.map(|of| of.dropped), Some((passed - sampled) as u64));
    // The plan is another one, and says what is kept.
    for mut other in [failures, sample] {
        other.transcripts = None;
        other.run.plan_digest.clone_from(&all.run.plan_digest);
        assert_eq!(other.summary.trials, all.summary.trials);
        let cases = |of: &Summary| of.cases.iter().map(|case| (case.pass, case.fail, case.verdict)).collect::<Vec<_>>();
        assert_eq!(cases(&other), cases(&all));
        assert_eq!((other.summary.turns, &other.series), (all.summary.turns, &all.series));
    }
}
