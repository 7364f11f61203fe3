//! Workers, coordinators and stores that fail, and what remains of a run.

use std::sync::{Arc, atomic::Ordering};

use coordinator::{Config, Reclaim};
use proto::v1::{self, RunState, coordinator_message::Body as Order, worker_message::Body as Word};
use record::{FailureKind, Verdict, summary::RunVerdict};
use store::Memory;

use crate::{
    breaking_store::BreakingStore,
    fake_worker::{FakeWorker, batch, held},
    plans::plan,
    served::{STARTED_AT, Served, pass},
};

async fn served() -> Served<Memory> {
    Served::new(Arc::new(Memory::new()), Config::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_killed_workers_trials_are_played_again_and_counted_once() {
    let mut served = served().await;
    let plan = plan(2, 5);
    served.submit("r1", &plan).await;
    let mut killed = FakeWorker::join(&mut served).await;
    let mut other = FakeWorker::join(&mut served).await;
    let lease = killed.claim(8).await.remove(0);
    assert_eq!((lease.first, lease.end), (0, 3), "ten are shared by two");
    killed.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    // It dies with half a trial sent; the calls in flight may cost 500 more.
    let mut half = batch(&plan, 2, &v1::Lease { first: 1, end: 2, ..lease.clone() }, Verdict::Pass);
    half.ended.clear();
    killed.say(Word::Batch(half)).await;
    killed.heartbeat(&[lease], 500).await;
    pass(0.1).await;
    drop(killed);
    other.plays_all(&plan).await;
    pass(2.0).await;
    assert_eq!(served.progress("r1").await.pass, 8);
    pass(2.0).await;
    let again = other.claim(9).await;
    assert_eq!((again[0].first, again[0].end, again[0].epoch), (1, 3, 2));
    other.plays(&plan, &again[0], Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.lost_attempts), (RunState::Finished, 10, 2));

    let summary = served.summary("r1").await;
    assert_eq!(summary.verdict, RunVerdict::Pass);
    assert_eq!((summary.summary.attempts.total, summary.summary.attempts.lost), (12, 2));
    assert!((summary.summary.unsettled_usd - 500e-9).abs() < 1e-15);
    let cost = summary.summary.cost;
    assert_eq!((cost.complete, cost.unknown_attempts), (false, 2), "though every trial ended");
    assert_eq!(summary.summary.turns, 20, "of winning attempts");
    assert_eq!(summary.summary.llm_calls["agent"], 22, "of all attempts");
    let exported = served.export("r1", 0).await;
    let epochs: Vec<(u64, u32, usize)> = exported
        .iter()
        .map(|trial| (trial.trial.as_ref().unwrap().number, trial.trial.as_ref().unwrap().epoch, trial.turns.len()))
        .collect();
    let right: Vec<_> = (0..10).map(|number| (number, if (1..3).contains(&number) { 2 } else { 1 }, 2)).collect();
    assert_eq!(epochs, right);
    let turn = proto::turn::from_bytes(exported[1].turns[0].clone()).unwrap();
    assert_eq!(turn.agent.as_deref(), Some("trial 1, epoch 2"));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_comes_twice_counts_once() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(2).await.remove(0);
    worker.sequence = 1;
    let sent = batch(&plan, 1, &lease, Verdict::Pass);
    for _ in 0..3 {
        worker.say(Word::Batch(sent.clone())).await;
        worker.acknowledged().await;
    }
    // The same trials under a new number, one of them twice.
    worker.sequence = 2;
    let mut repeated = batch(&plan, 2, &lease, Verdict::Fail);
    repeated.ended.push(repeated.ended[0].clone());
    worker.say(Word::Batch(repeated)).await;
    worker.acknowledged().await;
    let now = served.progress("r1").await;
    assert_eq!((now.pass, now.fail, now.turns), (2, 0, 4));
    assert!(worker.receives_nothing().await);
    let mut fenced = worker.fenced.clone();
    fenced.dedup();
    assert_eq!(fenced[..2], [held(&lease, 0, 1), held(&lease, 1, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_given_up_must_join_again() {
    let mut served = served().await;
    let plan = plan(1, 2);
    served.submit("r1", &plan).await;
    let mut silent = FakeWorker::join(&mut served).await;
    let lease = silent.claim(2).await.remove(0);
    // Its stream stays open, but it is silent for longer than a session lives.
    pass(31.0).await;
    assert_eq!(silent.goodbye().await, "no heartbeat in time");
    let mut back = silent.again(&mut served).await;
    assert_eq!(back.goodbye().await, format!("session {} is over", silent.session));
    let mut new = FakeWorker::join(&mut served).await;
    let again = new.claim(2).await.remove(0);
    assert_eq!((again.first, again.end, again.epoch), (lease.first, lease.end, 2));
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_a_session_and_list_its_trials() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    let listed = v1::Lease { end: 2, ..lease.clone() };
    for _ in 0..20 {
        pass(2.0).await;
        worker.heartbeat(std::slice::from_ref(&listed), 0).await;
    }
    pass(0.1).await;
    let returned = worker.claim(4).await.remove(0);
    assert_eq!((returned.first, returned.end, returned.epoch), (2, 4, 2), "it may have begun these");
    worker.heartbeat(&[v1::Lease { end: 9, ..lease.clone() }], 0).await;
    assert!(worker.receives_nothing().await);
    assert_eq!(worker.fenced, [held(&lease, 2, 9)]);
}

#[tokio::test(start_paused = true)]
async fn a_new_stream_replaces_the_old_one() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut first = FakeWorker::join(&mut served).await;
    let lease = first.claim(2).await;
    first.plays(&plan, &v1::Lease { end: 1, ..lease[0].clone() }, Verdict::Pass).await;
    let mut second = first.again(&mut served).await;
    assert!(matches!(second.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 1, .. }))));
    assert_eq!(first.hear().await, None);
    drop(first);
    pass(5.0).await;
    let rest = v1::Lease { first: 1, ..lease[0].clone() };
    assert_eq!(second.claim_as(1, 2).await, [rest], "the same claim gets what is left of the same grant");
    second.sequence = 1;
    second.plays(&plan, &v1::Lease { first: 1, ..lease[0].clone() }, Verdict::Pass).await;
    assert_eq!(served.progress("r1").await.pass, 2);
}

#[tokio::test(start_paused = true)]
async fn sessions_outlive_a_coordinator_that_is_started_again() {
    let mut served = served().await;
    let plan = plan(1, 6);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await;
    worker.plays(&plan, &v1::Lease { end: 1, ..lease[0].clone() }, Verdict::Pass).await;
    let mut served = Served::new(served.killed(), Config::default()).await;
    assert_eq!(worker.hear().await, None);

    let mut worker = worker.again(&mut served).await;
    assert!(matches!(worker.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 1, .. }))));
    let rest = v1::Lease { first: 1, ..lease[0].clone() };
    assert_eq!(worker.claim_as(1, 4).await, [rest], "the first trial has ended");
    worker.sequence = 1;
    worker.plays(&plan, &v1::Lease { first: 1, ..lease[0].clone() }, Verdict::Pass).await;
    let rest = worker.claim_as(2, 4).await.remove(0);
    assert_eq!((rest.first, rest.end, rest.epoch), (4, 6, 1));
    worker.plays(&plan, &rest, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.turns, end.lost_attempts), (RunState::Finished, 6, 12, 0));
    served.drained().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_and_trials_go_on_at_the_coordinator_that_has_taken_over() {
    let store = Arc::new(BreakingStore::default());
    let mut served = Served::new(Arc::clone(&store), Config::default()).await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    store.taken_over.store(true, Ordering::Relaxed);
    worker.say(Word::Batch(batch(&plan, 1, &lease, Verdict::Pass))).await;
    assert_eq!(worker.hear().await, None, "neither Stop nor Goodbye");
    let retry =
        |reason: &str| Some(Order::Goodbye(v1::Goodbye { reason: reason.to_owned(), rejoin: false, retry: true }));
    let mut refused = worker.again(&mut served).await;
    assert_eq!(
        refused.hear().await,
        retry("another coordinator has taken over"),
        "no Welcome of one that was replaced"
    );
    assert_eq!(refused.hear().await, None);
    served.killed();
    store.taken_over.store(false, Ordering::Relaxed);
    store.away.store(true, Ordering::Relaxed);
    let mut served = Served::new(Arc::clone(&store), Config::default()).await;
    let mut refused = worker.again(&mut served).await;
    let away = refused.hear().await;
    assert!(
        matches!(&away, Some(Order::Goodbye(bye)) if bye.retry && bye.reason.contains("nobody listens")),
        "{away:?}"
    );

    store.away.store(false, Ordering::Relaxed);
    let mut worker = worker.again(&mut served).await;
    assert!(matches!(worker.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 0, .. }))));
    assert_eq!(worker.claim_as(1, 4).await, std::slice::from_ref(&lease));
    worker.plays(&plan, &lease, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.lost_attempts), (RunState::Finished, 4, 0));
    served.drained().await;
}

#[tokio::test(start_paused = true)]
async fn an_embedded_coordinator_takes_everything_back_at_once() {
    let config = Config { reclaim: Reclaim::AtOnce, ..Config::default() };
    let mut served = Served::new(Arc::new(Memory::new()), config).await;
    let plan = plan(1, 6);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(3).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease }, Verdict::Pass).await;
    let mut served = Served::new(served.killed(), config).await;
    let resumed = served.resume("r1").await;
    assert_eq!((resumed.planned, resumed.done), (6, 1), "it resumes by itself, so this only reports");
    let mut old = worker.again(&mut served).await;
    assert_eq!(old.goodbye().await, format!("session {} is over", worker.session));
    let mut worker = FakeWorker::join(&mut served).await;
    let again = worker.claim(9).await;
    let again: Vec<_> = again.iter().map(|lease| (lease.first, lease.end, lease.epoch)).collect();
    assert_eq!(again, [(1, 3, 2), (3, 6, 1)]);
    assert_eq!(served.progress("r1").await.lost_attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn stopping_an_embedded_coordinator_repeatedly_poisons_nothing() {
    let config = Config { reclaim: Reclaim::AtOnce, ..Config::default() };
    let mut served = Served::new(Arc::new(Memory::new()), config).await;
    let plan = plan(1, 1);
    served.submit("r1", &plan).await;
    for epoch in 1..=8 {
        let mut worker = FakeWorker::join(&mut served).await;
        let lease = worker.claim(1).await.remove(0);
        assert_eq!((lease.first, lease.epoch), (0, epoch));
        served = Served::new(served.killed(), config).await;
    }
    let mut worker = FakeWorker::join(&mut served).await;
    worker.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.error, end.lost_attempts), (RunState::Finished, 1, 0, 8));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_back_and_owes_nothing_says_so_once_and_for_all() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(2).await.remove(0);
    worker.heartbeat(std::slice::from_ref(&lease), 500).await;
    pass(0.1).await;
    let mut back = worker.again(&mut served).await;
    assert!(matches!(back.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 0, .. }))));
    back.heartbeat(&[lease], 0).await;
    pass(0.1).await;
    drop((worker, back));
    pass(5.0).await;
    let summary = served.summary("r1").await.summary;
    assert_eq!((summary.attempts.lost, summary.unsettled_usd), (2, 0.0));
    assert_eq!((summary.cost.complete, summary.cost.unknown_attempts), (false, 2), "calls may have begun since");
}

#[tokio::test(start_paused = true)]
async fn a_drained_coordinator_stores_received_batches() {
    let mut served = served().await;
    let plan = plan(1, 2);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(1).await.remove(0);
    worker.say(Word::Batch(batch(&plan, 1, &lease, Verdict::Pass))).await;
    worker.sequence = 1;
    worker.acknowledged().await;
    let store = Arc::clone(&served.store);
    served.drained().await;
    assert_eq!(worker.hear().await, None, "no goodbye: the session lives on");
    let mut served = Served::new(store, Config::default()).await;
    let mut back = worker.again(&mut served).await;
    assert!(matches!(back.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 1, .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_brings_workers_down_ends_as_poisoned() {
    let mut served = served().await;
    let plan = plan(1, 2);
    served.submit("r1", &plan).await;
    for epoch in 1..=2 {
        let mut worker = FakeWorker::join(&mut served).await;
        let lease = worker.claim(1).await.remove(0);
        assert_eq!((lease.first, lease.end, lease.epoch), (0, 1, epoch));
        drop(worker);
        pass(4.0).await;
    }
    let mut worker = FakeWorker::join(&mut served).await;
    let healthy = worker.claim(1).await.remove(0);
    assert_eq!((healthy.first, healthy.end, healthy.epoch), (1, 2, 1), "what is healthy goes first");
    worker.plays(&plan, &healthy, Verdict::Pass).await;
    worker.say(Word::Leave(v1::Leave {})).await;
    for epoch in 3..=5 {
        let mut worker = FakeWorker::join(&mut served).await;
        pass(15.0).await;
        let lease = worker.claim(1).await.remove(0);
        assert_eq!((lease.first, lease.end, lease.epoch), (0, 1, epoch));
        drop(worker);
        pass(4.0).await;
    }
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.error, end.lost_attempts), (RunState::Finished, 1, 1, 5));
    let summary = served.summary("r1").await;
    assert_eq!(summary.verdict, RunVerdict::Inconclusive, "our fault is not the agent's failure");
    assert_eq!(summary.summary.failures[0].kind, FailureKind::Poisoned);
    assert_eq!((summary.summary.attempts.total, summary.summary.attempts.lost), (7, 5));
    let exported = served.export("r1", 0).await;
    let poisoned = exported[0].trial.as_ref().unwrap();
    assert_eq!((poisoned.verdict.as_str(), poisoned.epoch, exported[0].turns.len()), ("ERROR", 6, 0));
    assert_eq!(poisoned.trial_id, plan.trial(0).unwrap().id.as_str());
}

#[tokio::test(start_paused = true)]
async fn unbegun_trials_of_a_lost_worker_are_not_lost_attempts() {
    let mut served = served().await;
    let plan = plan(1, 6);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    worker.idle = 2;
    let lease = worker.claim(6).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    worker.say(Word::Begun(v1::Begun { trials: vec![held(&lease, 2, 3)] })).await;
    worker.heartbeat(&[v1::Lease { first: 1, ..lease }], 0).await;
    pass(0.1).await;
    // Neither the worker nor the coordinator comes back; the heartbeat stored what had begun.
    drop(worker);
    let mut served = Served::new(served.killed(), Config::default()).await;
    pass(31.0).await;
    let summary = served.summary("r1").await.summary;
    assert_eq!((summary.attempts.total, summary.attempts.lost), (3, 2), "1 and 2");
    assert_eq!(summary.cost.unknown_attempts, 2);
    let mut worker = FakeWorker::join(&mut served).await;
    let again = worker.claim(6).await.remove(0);
    assert_eq!((again.first, again.end, again.epoch), (1, 6, 2));
}

/// Its clock is the test's: the pause of a runtime does not stop the wall's.
#[tokio::test(start_paused = true)]
async fn a_coordinator_that_starts_again_and_again_gives_up_a_dead_worker_in_time() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut dead = FakeWorker::join(&mut served).await;
    let lease = dead.claim(2).await.remove(0);
    dead.heartbeat(&[lease], 0).await;
    pass(0.1).await;
    drop(dead);
    let mut lent = Vec::new();
    for start in 1..=3 {
        let store = served.killed();
        // It is down for a moment, and then lives for 12 s.
        served = Served::new_at(store, Config::default(), STARTED_AT + 12_000 * start).await;
        let mut worker = FakeWorker::join(&mut served).await;
        pass(11.0).await;
        lent = worker.claim(9).await;
        worker.say(Word::Leave(v1::Leave {})).await;
        pass(0.9).await;
    }
    let lent: Vec<_> = lent.iter().map(|lease| (lease.first, lease.end, lease.epoch)).collect();
    assert_eq!(lent, [(0, 2, 2), (2, 4, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_written_interrupts_the_run_and_acknowledges_nothing() {
    let mut served = Served::new(Arc::new(BreakingStore::default()), Config::default()).await;
    let plan = plan(1, 6);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(3).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    served.store.broken.store(true, Ordering::Relaxed);
    worker.say(Word::Batch(batch(&plan, 2, &v1::Lease { first: 1, end: 2, ..lease }, Verdict::Pass))).await;
    assert_eq!(
        worker.hear().await,
        Some(Order::Stop(v1::Stop { run: "r1".to_owned(), drain: false, ..v1::Stop::default() }))
    );
    assert_eq!(worker.goodbye().await, "the store cannot be written: disk full");
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass), (RunState::Interrupted, 1));
    assert_eq!(end.trouble, "the store cannot be written: disk full");
    let summary = served.summary("r1").await;
    assert_eq!((summary.summary.trials.pass, summary.summary.trials.not_started), (1, 5), "there is a report");
    let join = v1::JoinRequest { protocol: proto::PROTOCOL, ..v1::JoinRequest::default() };
    let refused = served.workers.join(join).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unavailable, "a worker tries again later");

    served.store.broken.store(false, Ordering::Relaxed);
    let resumed = served.resume("r1").await;
    assert_eq!((resumed.planned, resumed.done), (6, 1));
    let mut worker = FakeWorker::join(&mut served).await;
    worker.plays_all(&plan).await;
    // The trials of the old session return when it expires.
    for _ in 0..16 {
        pass(2.0).await;
        worker.heartbeat(&[], 0).await;
    }
    worker.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.trouble.as_str()), (RunState::Finished, 6, ""));
    assert_eq!(served.summary("r1").await.summary.attempts.lost, 2);
}

/// The store has the run as running by then, and nobody would resume it.
#[tokio::test(start_paused = true)]
async fn a_resume_that_fails_half_way_is_done_once_the_store_answers() {
    let mut served = Served::new(Arc::new(BreakingStore::default()), Config::default()).await;
    let plan = plan(1, 2);
    served.submit("r1", &plan).await;
    served.people.cancel(v1::CancelRequest { run: "r1".to_owned(), drain: true }).await.unwrap();
    assert_eq!(served.watch("r1").await.pop().unwrap().state(), RunState::Interrupted);
    served.store.hides_spend.store(true, Ordering::Relaxed);
    let resume = v1::ResumeRequest { run: "r1".to_owned(), ..v1::ResumeRequest::default() };
    served.people.resume(resume).await.unwrap_err();
    pass(2.0).await;
    served.store.hides_spend.store(false, Ordering::Relaxed);
    pass(2.0).await;
    let mut worker = FakeWorker::join(&mut served).await;
    worker.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass), (RunState::Finished, 2));
}
