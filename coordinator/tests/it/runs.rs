//! Runs from submission to summary, as people see them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use coordinator::Config;
use proto::v1::{self, RunState, coordinator_message::Body as Order, worker_message::Body as Word};
use record::{FailureKind, Verdict, summary::RunVerdict};
use store::Memory;
use tonic::Code;

use crate::{
    breaking_store::BreakingStore,
    fake_worker::{FakeWorker, batch, held},
    plans::{plan, turn},
    served::{STARTED_AT, Served, pass},
};

async fn served() -> Served<Memory> {
    Served::new(Arc::new(Memory::new()), Config::default()).await
}

#[tokio::test(start_paused = true)]
async fn one_worker_plays_a_run_to_its_summary() {
    let mut served = served().await;
    let plan = plan(2, 3);
    assert_eq!(served.submit("r1", &plan).await, 6);
    let mut worker = FakeWorker::join(&mut served).await;
    let leases = worker.claim(4).await;
    assert_eq!(leases.len(), 1);
    assert_eq!((leases[0].first, leases[0].end, leases[0].epoch), (0, 4, 1));
    let digest = leases[0].plan_digest.clone();
    let stored = served.workers.get_plan(v1::GetPlanRequest { digest }).await.unwrap().into_inner().plan;
    assert_eq!(scenario::Plan::from_json(std::str::from_utf8(&stored).unwrap()).unwrap(), plan);
    worker.plays(&plan, &leases[0], Verdict::Pass).await;

    let now = served.progress("r1").await;
    assert_eq!((now.state(), now.planned, now.pass, now.turns, now.workers), (RunState::Running, 6, 4, 8, 1));
    assert_eq!((now.input_tokens, now.output_tokens, now.cost_nanos), (24, 40, 8_000));
    let last = worker.claim(4).await;
    worker.plays(&plan, &v1::Lease { end: 5, ..last[0].clone() }, Verdict::Fail).await;
    worker.plays(&plan, &v1::Lease { first: 5, ..last[0].clone() }, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.fail, end.running), (RunState::Finished, 5, 1, 0));

    let summary = served.summary("r1").await;
    assert_eq!(summary.verdict, RunVerdict::Fail);
    assert_eq!(summary.run.started_at, "2026-11-21T03:00:00.000Z");
    assert!(summary.run.ended_at.is_some());
    let totals = &summary.summary;
    assert_eq!(
        (totals.trials.planned, totals.trials.pass, totals.trials.fail, totals.trials.not_started),
        (6, 5, 1, 0)
    );
    assert_eq!((totals.turns, totals.latency.times.turn.count, totals.flaky_cases), (12, 12, 1));
    assert_eq!((totals.attempts.total, totals.attempts.lost), (6, 0));
    assert_eq!((totals.tokens["agent"].input, totals.tokens["judge"].input, totals.llm_calls["agent"]), (36, 0, 12));
    assert!((totals.cost.total_usd - 12e-6).abs() < 1e-12 && totals.cost.complete);
    // s0 passed 2 of 3 with weight 1, s1 passed 3 of 3 with weight 2.
    assert!((totals.weighted_success_rate.unwrap() - (2.0 / 3.0 + 2.0) / 3.0).abs() < 1e-12);
    let cases: Vec<_> =
        summary.cases.iter().map(|case| (case.scenario.as_str(), case.pass, case.flaky, case.verdict)).collect();
    assert_eq!(cases, [("s0", 2, true, RunVerdict::Fail), ("s1", 3, false, RunVerdict::Pass)]);
    assert_eq!(coordinator::aggregate::summarize(&*served.store, &"r1".into_id()).await.unwrap(), summary);
}

/// Run ids as the store wants them.
trait IntoId {
    fn into_id(self) -> scenario::RunId;
}

impl IntoId for &str {
    fn into_id(self) -> scenario::RunId {
        scenario::RunId::new(self)
    }
}

#[tokio::test(start_paused = true)]
async fn watching_reports_at_once_then_at_intervals_then_at_the_end() {
    let mut served = served().await;
    let plan = plan(1, 40);
    served.submit("r1", &plan).await;
    let mut watcher = served.people.clone();
    let seen = tokio::spawn(async move {
        let mut stream = watcher.watch(v1::WatchRequest { run: "r1".to_owned() }).await.unwrap().into_inner();
        let mut seen = Vec::new();
        while let Some(progress) = stream.message().await.unwrap() {
            seen.push((tokio::time::Instant::now(), progress));
        }
        seen
    });
    let mut worker = FakeWorker::join(&mut served).await;
    for _ in 0..40 {
        pass(0.01).await;
        let lease = worker.claim(1).await.remove(0);
        worker.plays(&plan, &lease, Verdict::Pass).await;
    }
    let seen = seen.await.unwrap();
    assert!((3..=8).contains(&seen.len()), "{} messages in 0.4 s", seen.len());
    assert!(seen.windows(2).all(|pair| pair[1].0 - pair[0].0 >= Duration::from_millis(99)));
    assert!(seen.windows(2).all(|pair| pair[0].1.pass <= pair[1].1.pass));
    let (first, last) = (&seen[0].1, &seen[seen.len() - 1].1);
    assert_eq!((first.pass, first.state()), (0, RunState::Running));
    assert_eq!((last.pass, last.state()), (40, RunState::Finished));
    assert_eq!(served.watch("r1").await.len(), 1, "who comes late gets the end");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_at_once_and_for_good() {
    let mut served = served().await;
    let plan = plan(1, 10);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    assert_eq!(served.cancel("r1", false).await, RunState::Cancelled);
    assert_eq!(
        worker.hear().await,
        Some(Order::Stop(v1::Stop { run: "r1".to_owned(), drain: false, ..v1::Stop::default() }))
    );
    // Trials in flight are acknowledged and paid for, but do not count.
    worker.plays(&plan, &v1::Lease { first: 1, end: 2, ..lease.clone() }, Verdict::Pass).await;
    assert!(worker.claim(4).await.is_empty());
    assert_eq!(worker.fenced, [held(&lease, 1, 2)]);
    let summary = served.summary("r1").await;
    let trials = summary.summary.trials;
    assert_eq!((trials.pass, trials.cancelled, trials.not_started), (1, 9, 0));
    assert_eq!(summary.cases[0].cancelled, 9);
    assert_eq!((summary.summary.attempts.lost, summary.summary.llm_calls["agent"]), (0, 4));
    assert_eq!(summary.verdict, RunVerdict::Inconclusive);
    let refused = served
        .people
        .resume(v1::ResumeRequest { run: "r1".to_owned(), failed: false, max_cost_nanos: None })
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(served.cancel("r1", true).await, RunState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_drained_run_finishes_running_trials_and_can_resume() {
    let mut served = served().await;
    let plan = plan(1, 10);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    assert_eq!(served.cancel("r1", true).await, RunState::Running);
    assert_eq!(
        worker.hear().await,
        Some(Order::Stop(v1::Stop { run: "r1".to_owned(), drain: true, ..v1::Stop::default() }))
    );
    assert!(worker.claim(4).await.is_empty());
    worker.say(Word::Release(v1::Release { trials: vec![held(&lease, 2, 4)], begun: false })).await;
    worker.plays(&plan, &v1::Lease { end: 2, ..lease }, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass), (RunState::Interrupted, 2));

    let resumed = served.resume("r1").await;
    assert_eq!((resumed.planned, resumed.done), (10, 2));
    worker.plays_all(&plan).await;
    let summary = served.summary("r1").await;
    assert_eq!((summary.verdict, summary.summary.trials.pass), (RunVerdict::Pass, 10));
    assert_eq!(summary.summary.attempts.lost, 0);
    let again = served.resume("r1").await;
    assert_eq!((again.planned, again.done), (10, 10), "a finished run is only reported");
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_a_worker_that_knows_its_agents() {
    let mut served = served().await;
    let plan = scenario::Plan { agents: vec!["mock".to_owned(), "staging".to_owned()], ..plan(1, 2) };
    served.submit("r1", &plan).await;
    assert_eq!(served.progress("r1").await.waiting_for, "", "the number of workers already says that there is none");
    let mut stranger = FakeWorker::join(&mut served).await;
    assert!(stranger.claim(4).await.is_empty());
    pass(1.0).await;
    let now = served.progress("r1").await;
    assert_eq!((now.workers, now.waiting_for.as_str()), (1, "no connected worker knows the agent `staging`"));
    assert_eq!((now.state(), now.trouble.as_str()), (RunState::Running, ""));

    let mut friend = FakeWorker::join_knowing(&mut served, &["staging", "mock", "other"]).await;
    pass(1.0).await;
    assert_eq!(served.progress("r1").await.waiting_for, "");
    let lease = friend.claim(1).await.remove(0);
    friend.plays(&plan, &lease, Verdict::Pass).await;
    // A coordinator that restarts learns the worker's agents from its stream.
    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut stranger = stranger.again(&mut served).await;
    assert!(matches!(stranger.hear().await, Some(Order::Welcome(_))));
    assert!(stranger.claim_as(2, 4).await.is_empty());
    let mut friend = FakeWorker::join_knowing(&mut served, &["staging", "mock"]).await;
    friend.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.waiting_for.as_str()), (RunState::Finished, 4, ""));
}

#[tokio::test(start_paused = true)]
async fn a_used_up_quota_interrupts_the_run() {
    let mut served = served().await;
    let plan = plan(1, 10);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    worker.sequence += 1;
    let mut broke = batch(&plan, worker.sequence, &v1::Lease { first: 1, end: 2, ..lease.clone() }, Verdict::Error);
    broke.ended[0].failure = Some(v1::Failure {
        kind: "provider_exhausted".to_owned(),
        blame: "budget".to_owned(),
        message: "no credit is left".to_owned(),
        turn: Some(1),
        step: None,
    });
    worker.say(Word::Batch(broke)).await;
    worker.acknowledged().await;
    assert_eq!(
        worker.hear().await,
        Some(Order::Stop(v1::Stop { run: "r1".to_owned(), drain: true, ..v1::Stop::default() }))
    );
    assert!(worker.claim(4).await.is_empty());
    assert_eq!(served.progress("r1").await.state(), RunState::Running, "what is being played may end");
    worker.say(Word::Release(v1::Release { trials: vec![held(&lease, 3, 4)], begun: false })).await;
    worker.plays(&plan, &v1::Lease { first: 2, end: 3, ..lease }, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.error), (RunState::Interrupted, 2, 1));
    assert_eq!((end.trouble.as_str(), end.waiting_for.as_str()), ("", ""));
    let summary = served.summary("r1").await;
    let kinds: Vec<_> = summary.summary.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!((kinds, summary.run.exhausted), (vec![FailureKind::ProviderExhausted], true));

    let resumed = served.resume("r1").await;
    assert_eq!((resumed.done, resumed.again), (2, 1), "once there is credit again, it goes on");
    worker.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.error), (RunState::Finished, 10, 0));
    let summary = served.summary("r1").await;
    assert!(!summary.run.exhausted);
    assert_eq!((summary.summary.attempts.total, summary.summary.attempts.replayed), (11, 1));
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_can_be_cancelled_for_good() {
    let mut served = served().await;
    served.submit("r1", &plan(1, 2)).await;
    assert_eq!(served.cancel("r1", true).await, RunState::Interrupted, "nothing was lent");
    assert_eq!(served.cancel("r1", false).await, RunState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn several_runs_share_a_worker_and_keep_their_words_apart() {
    let mut served = served().await;
    let (one, other) = (plan(1, 3), plan(3, 2));
    served.submit("r1", &one).await;
    served.submit("r2", &other).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let mut order = Vec::new();
    loop {
        let Some(lease) = worker.claim(1).await.pop() else { break };
        order.push(format!("{}:{}", lease.run, lease.first));
        let of = if lease.run == "r1" { &one } else { &other };
        let verdict = if lease.run == "r1" { Verdict::Pass } else { Verdict::Fail };
        worker.plays(of, &lease, verdict).await;
    }
    let fair = ["r1:0", "r2:0", "r1:1", "r2:1", "r1:2", "r2:2", "r2:3", "r2:4", "r2:5"];
    assert_eq!(order, fair);
    for (run, trials) in [("r1", 3), ("r2", 6)] {
        let exported = served.export(run, 0).await;
        assert_eq!(exported.len(), trials);
        assert!(exported.iter().all(|trial| trial.turns.len() == 2), "{exported:?}");
    }
    let list = served.people.list(v1::ListRequest {}).await.unwrap().into_inner().runs;
    let lines: Vec<_> = list.iter().map(|line| (line.run.as_str(), line.state(), line.planned, line.done)).collect();
    assert_eq!(lines, [("r2", RunState::Finished, 6, 6), ("r1", RunState::Finished, 3, 3)]);
    assert_eq!(list[0].started_at, STARTED_AT);
}

#[tokio::test(start_paused = true)]
async fn transcripts_come_in_the_plans_order_wherever_their_segments_are() {
    let mut served = served().await;
    let plan = plan(1, 200);
    served.submit("r1", &plan).await;
    let mut workers = [FakeWorker::join(&mut served).await, FakeWorker::join(&mut served).await];
    let mut turn = 0;
    loop {
        let worker = &mut workers[turn % 2];
        turn += 1;
        let Some(lease) = worker.claim(7).await.pop() else { break };
        // The turns of an attempt may be in other batches than its end.
        worker.sequence += 1;
        let mut words = batch(&plan, worker.sequence, &lease, Verdict::Pass);
        let ended = std::mem::take(&mut words.ended);
        worker.say(Word::Batch(words.clone())).await;
        worker.acknowledged().await;
        worker.sequence += 1;
        let end = v1::Batch { sequence: worker.sequence, run: words.run, ended, ..v1::Batch::default() };
        worker.say(Word::Batch(end)).await;
        worker.acknowledged().await;
    }
    for first in [0, 150, 200] {
        let exported = served.export("r1", first).await;
        let numbers: Vec<u64> = exported.iter().map(|trial| trial.trial.as_ref().unwrap().number).collect();
        assert_eq!(numbers, (first..200).collect::<Vec<_>>());
        for (number, trial) in numbers.iter().zip(&exported) {
            let turn = proto::turn::from_bytes(trial.turns[0].clone()).unwrap();
            assert_eq!(turn.agent, Some(format!("trial {number}, epoch 1")));
            assert_eq!(trial.turns.len(), 2);
        }
    }
}

/// Trials that are played at the same time share their batches; each of them is read without the others.
#[tokio::test(start_paused = true)]
async fn every_word_is_read_back_once() {
    const TRIALS: u64 = 40;
    let mut served = Served::new(Arc::new(BreakingStore::default()), Config::default()).await;
    let plan = plan(1, TRIALS as u32);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(TRIALS as u32).await.remove(0);
    assert_eq!((lease.first, lease.end), (0, TRIALS));
    let mut written = 0;
    let mut pieces = vec![Vec::new(); TRIALS as usize];
    for sequence in 1..=30 {
        let said = "x".repeat(10_000);
        let parts = (0..TRIALS).map(|trial| (trial, 1, [turn(sequence as u32, &said)].into_iter().collect()));
        let (segment, lengths) = proto::segment::encode(parts);
        written += segment.len();
        for (place, (of, bytes)) in (0..).zip(pieces.iter_mut().zip(lengths)) {
            of.push(v1::Piece { sequence, place, bytes });
        }
        worker.sequence = sequence;
        let run = "r1".to_owned();
        worker.say(Word::Batch(v1::Batch { sequence, run, segment, turns: 40, ..v1::Batch::default() })).await;
        worker.acknowledged().await;
    }
    assert!(written > 10 << 20, "more than anybody would keep: {written}");
    worker.sequence += 1;
    let mut end = batch(&plan, worker.sequence, &lease, Verdict::Pass);
    for (trial, pieces) in end.ended.iter_mut().zip(pieces) {
        trial.pieces = pieces;
    }
    worker.say(Word::Batch(end)).await;
    worker.acknowledged().await;

    let exported = served.export("r1", 0).await;
    assert_eq!(exported.len() as u64, TRIALS);
    let number = |turn: &bytes::Bytes| proto::turn::from_bytes(turn.clone()).unwrap().number;
    assert!(exported.iter().all(|trial| trial.turns.iter().map(number).eq(1..=30)));
    assert_eq!(served.store.read_bytes.swap(0, Ordering::Relaxed), written);
    served.export("r1", TRIALS - 1).await;
    let of_one = written / TRIALS as usize;
    let read = served.store.read_bytes.load(Ordering::Relaxed);
    assert!((of_one..of_one + 100).contains(&read), "{read} for the last trial alone, {of_one} on average");
}
