//! Runs that stop when they are decided.

use std::sync::Arc;

use coordinator::Config;
use proto::v1::RunState;
use record::{
    Verdict,
    decision::Decided,
    summary::{RunVerdict, Summary},
};
use scenario::{
    Plan, Quarantine, RunId,
    plan::{Decide, Gates, VERSION},
};
use store::Memory;

use crate::{fake_worker::FakeWorker, plans::plan, served::Served};

fn deciding(rate: f64, floor: Option<f64>, most_repeats: u32) -> Plan {
    let decide = Decide { bad: rate, good: rate, floor, false_pass: 0.05, false_fail: 0.05, most_repeats };
    Plan { version: VERSION, decide: Some(decide), ..plan(2, most_repeats) }
}

/// Plays what is leased, one by one, until nothing is.
async fn play(worker: &mut FakeWorker, plan: &Plan, verdict_of: impl Fn(u64) -> Verdict) -> Vec<u64> {
    let mut played = Vec::new();
    while let [lease] = worker.claim(1).await.as_slice() {
        worker.plays(plan, lease, verdict_of(lease.first)).await;
        played.push(lease.first);
    }
    played
}

async fn summary_of(served: Served<Memory>) -> Summary {
    let mut served = served;
    let summary = served.summary("r1").await;
    let store = served.killed();
    let again = coordinator::aggregate::summarize(&*store, &RunId::new("r1")).await.unwrap();
    assert_eq!(again, summary, "the store alone has it");
    summary
}

#[tokio::test(start_paused = true)]
async fn a_run_stops_when_it_is_decided_also_after_a_restart() {
    let plan = deciding(0.8, None, 30);
    let mut served = Served::new(Arc::new(Memory::new()), Config::default()).await;
    assert_eq!(served.submit("r1", &plan).await, 60);
    let mut worker = FakeWorker::join(&mut served).await;
    for _ in 0..3 {
        let lease = worker.claim(3).await.remove(0);
        worker.plays(&plan, &lease, Verdict::Pass).await;
    }
    let halfway = served.summary("r1").await;
    let sequential = halfway.sequential.unwrap();
    assert_eq!((sequential.verdict, sequential.repeats, sequential.consumed), (None, 4, 8));
    assert_eq!(halfway.gates[0].reason, "not decided yet, after 4 of 30 repeats (8 conversations)");

    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let played = play(&mut worker, &plan, |_| Verdict::Pass).await;
    assert_eq!(played.last(), Some(&19), "20 straight passes decide 80 %");
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.planned), (RunState::Finished, 20, 20));
    let summary = summary_of(served).await;
    assert_eq!((summary.verdict, summary.gates.len()), (RunVerdict::Pass, 1));
    let reason = "decided after 10 of 30 repeats (20 conversations): PASS, 20 of 20 passed; a run at 80 % passes with a chance of at \
                  most 5 %";
    assert_eq!((summary.gates[0].name.as_str(), summary.gates[0].reason.as_str()), ("decided_early", reason));
    let decided: Vec<Decided> = summary.run.decisions.into_iter().map(|decision| decision.what).collect();
    assert_eq!(decided, [Decided::Concluded { reason: reason.to_owned() }]);
    assert_eq!((summary.summary.trials.planned, summary.summary.trials.not_started), (20, 0));
    assert!(summary.cases.iter().all(|case| case.trials == 10 && case.verdict == RunVerdict::Pass));
}

#[tokio::test(start_paused = true)]
async fn decided_cases_stop_and_the_others_play_on() {
    let plan = deciding(0.1, Some(0.2), 40);
    let mut served = Served::new(Arc::new(Memory::new()), Config::default()).await;
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    // The second case always fails.
    let verdict_of = |number: u64| if number.is_multiple_of(2) { Verdict::Pass } else { Verdict::Fail };
    let played = play(&mut worker, &plan, verdict_of).await;
    let (first, second): (Vec<u64>, Vec<u64>) = played.iter().partition(|number| number.is_multiple_of(2));
    assert!(second.len() > first.len() + 5, "{played:?}");
    let summary = summary_of(served).await;
    assert_eq!((summary.verdict, summary.run.state), (RunVerdict::Fail, record::summary::RunState::Finished));
    let cases: Vec<(u64, RunVerdict)> = summary.cases.iter().map(|case| (case.trials, case.verdict)).collect();
    let right = [(first.len() as u64, RunVerdict::Pass), (second.len() as u64, RunVerdict::Fail)];
    assert_eq!(cases, right);
    assert!(summary.gates[0].reason.contains("FAIL, s1 passed 0 of "), "{}", summary.gates[0].reason);
    let sequential = summary.sequential.unwrap();
    assert_eq!(sequential.mean.verdict, Some(RunVerdict::Pass), "the mean alone hides it");
    assert_eq!(sequential.consumed, played.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn used_up_repeats_are_inconclusive() {
    let plan = deciding(0.8, None, 3);
    let mut served = Served::new(Arc::new(Memory::new()), Config::default()).await;
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    assert_eq!(play(&mut worker, &plan, |_| Verdict::Pass).await, [0, 1, 2, 3, 4, 5]);
    let summary = summary_of(served).await;
    assert_eq!(summary.verdict, RunVerdict::Inconclusive);
    let reason = "not decided after 3 of 3 repeats (6 conversations): 6 of 6 passed, required 80 %";
    assert_eq!(summary.gates[0].reason, reason);
}

#[tokio::test(start_paused = true)]
async fn a_case_in_quarantine_is_played_and_decides_nothing() {
    let quarantine = vec![Quarantine {
        case: "s1".to_owned(),
        owner: "ann".to_owned(),
        reason: "it is flaky".to_owned(),
        expires: "2026-12-24".to_owned(),
    }];
    let plan = deciding(0.8, Some(0.4), 30);
    let plan = Plan { gates: Gates { quarantine, ..plan.gates.clone() }, ..plan };
    let mut served = Served::new(Arc::new(Memory::new()), Config::default()).await;
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let verdict_of = |number: u64| if number.is_multiple_of(2) { Verdict::Pass } else { Verdict::Fail };
    let played = play(&mut worker, &plan, verdict_of).await;
    assert_eq!(played, (0..39).collect::<Vec<_>>(), "20 passes of the other case decide");
    let summary = summary_of(served).await;
    assert_eq!(summary.verdict, RunVerdict::Pass);
    let cases: Vec<(u64, RunVerdict)> = summary.cases.iter().map(|case| (case.trials, case.verdict)).collect();
    assert_eq!(cases, [(20, RunVerdict::Pass), (19, RunVerdict::Inconclusive)]);
    assert_eq!(summary.sequential.unwrap().most_conversations, 30);
}
