//! One list of scenarios, played on every store.

use record::{Role, Usd, call::Spend, summary::RunState};
use scenario::Digest;
use store::{Committed, Error, Recovered, RunRow, Store};

use crate::{
    samples::{PLAN, batch, id, lease, payload, run, spend, trial},
    stand::{InMemory, OnDisk, Stand},
};

macro_rules! on_every_store {
    ($($scenario:ident)*) => {
        mod memory {
            $(#[tokio::test] async fn $scenario() { super::$scenario::<super::InMemory>().await; })*
        }
        mod sqlite {
            $(#[tokio::test] async fn $scenario() { super::$scenario::<super::OnDisk>().await; })*
        }
    };
}

on_every_store! {
    a_run_is_created_once
    runs_are_listed_newest_first
    a_run_changes_its_state
    what_is_unknown_is_said
    sessions_ascend_and_end_once
    a_commit_counts_and_a_second_one_does_not
    a_gap_is_refused_and_changes_nothing
    a_stale_or_foreign_trial_is_fenced
    a_trial_counts_once_in_a_batch
    nothing_counts_after_the_session
    a_closed_run_counts_nothing_more
    grants_are_whole_or_nothing
    an_ended_session_loses_what_is_not_done
    solo_losses_are_told_apart
    what_is_given_back_is_not_lost
    a_lease_that_is_done_is_over
    unsettled_money_goes_to_the_runs_that_lost
    all_comes_back_after_a_restart
    trials_come_in_pages
    segments_come_by_run_and_sequence
    spend_adds_up
    a_thousand_trials_fit_one_batch
}

/// A run named `run` and an open session.
async fn ready<S: Stand>() -> (S, u64) {
    let stand = S::new().await;
    stand.store().create_run(&run("run"), PLAN).await.unwrap();
    let session = stand.store().open_session("worker", 1).await.unwrap();
    (stand, session)
}

fn counted(numbers: &[u64]) -> Committed {
    Committed { counted: numbers.to_vec(), ..Committed::default() }
}

fn fenced(numbers: &[u64]) -> Committed {
    Committed { fenced: numbers.to_vec(), ..Committed::default() }
}

async fn numbers(store: &impl Store, name: &str) -> Vec<u64> {
    let trials = store.trials(&id(name), 0, u32::MAX).await.unwrap();
    trials.iter().map(|stored| stored.trial.number).collect()
}

async fn a_run_is_created_once<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    store.create_run(&run("run"), PLAN).await.unwrap();
    assert_eq!(store.run(&id("run")).await.unwrap(), Some(run("run")));
    assert_eq!(store.plan(&Digest::of(PLAN)).await.unwrap().unwrap(), PLAN);

    // The same again, although it is already on its way.
    store.set_state(&id("run"), RunState::Finished, Some(5)).await.unwrap();
    store.create_run(&run("run"), PLAN).await.unwrap();
    assert_eq!(store.run(&id("run")).await.unwrap().unwrap().state, RunState::Finished);

    let other = RunRow { plan_digest: Digest::of(b"other"), ..run("run") };
    assert!(matches!(store.create_run(&other, b"other").await, Err(Error::Conflict(run)) if run == id("run")));
    assert_eq!(store.plan(&Digest::of(b"other")).await.unwrap(), None);

    // Two runs of one plan share it.
    store.create_run(&run("again"), PLAN).await.unwrap();
    assert_eq!(store.runs().await.unwrap().len(), 2);
}

async fn runs_are_listed_newest_first<S: Stand>() {
    let stand = S::new().await;
    for (name, started_at) in [("b", 20), ("a", 20), ("old", 10), ("new", 30)] {
        stand.store().create_run(&RunRow { started_at, ..run(name) }, PLAN).await.unwrap();
    }
    let names: Vec<_> = stand.store().runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(names, [id("new"), id("b"), id("a"), id("old")]);
}

async fn a_run_changes_its_state<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let rows = [
        (RunState::Interrupted, Some(7)),
        (RunState::Running, None),
        (RunState::Cancelled, Some(9)),
        (RunState::Finished, Some(11)),
    ];
    for (state, ended_at) in rows {
        stand.store().set_state(&id("run"), state, ended_at).await.unwrap();
        let expected = RunRow { state, ended_at, ..run("run") };
        assert_eq!(stand.store().run(&id("run")).await.unwrap(), Some(expected));
    }
}

async fn what_is_unknown_is_said<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let (store, ghost) = (stand.store(), id("ghost"));
    assert_eq!(store.run(&ghost).await.unwrap(), None);
    assert_eq!(store.plan(&Digest::of(b"ghost")).await.unwrap(), None);
    let refusals = [
        store.set_state(&ghost, RunState::Finished, None).await.unwrap_err(),
        store.grant(&[lease(1, session, "ghost", 0..1, 1)], 1).await.unwrap_err(),
        store.commit(&batch(session, 1, "ghost", &[]), 1).await.unwrap_err(),
        store.recover(&ghost).await.unwrap_err(),
        store.trials(&ghost, 0, 1).await.unwrap_err(),
        store.segments(&ghost, session, 1, 1).await.unwrap_err(),
        store.spend(&ghost).await.unwrap_err(),
    ];
    for (row, refusal) in refusals.into_iter().enumerate() {
        assert!(matches!(&refusal, Error::UnknownRun(run) if *run == ghost), "row {row}: {refusal}");
    }
    for nobody in [0, 99, u64::MAX] {
        assert_eq!(store.watermark(nobody).await.unwrap(), None);
        assert!(matches!(store.beat(nobody, Usd(1), 1).await, Err(Error::SessionOver(session)) if session == nobody));
        assert_eq!(store.end_session(nobody, "gone", false, 1).await.unwrap(), []);
        assert_eq!(store.segments(&id("run"), nobody, 0, u64::MAX).await.unwrap().len(), 0);
        assert!(store.commit(&batch(nobody, 1, "run", &[]), 1).await.unwrap().session_over);
        store.release(nobody, &[lease(1, nobody, "run", 0..1, 1)]).await.unwrap();
    }
    assert_eq!(store.watermark(session).await.unwrap(), Some(0), "the refused batch took no place");
}

async fn sessions_ascend_and_end_once<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    let second = store.open_session("worker", 2).await.unwrap();
    assert!(second > first, "{second} after {first}");
    store.grant(&[lease(1, first, "run", 0..2, 1)], 2).await.unwrap();
    assert_eq!(store.end_session(first, "lost", false, 3).await.unwrap(), [lease(1, first, "run", 0..2, 1)]);
    assert_eq!(store.end_session(first, "lost", false, 4).await.unwrap(), []);
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 2);
    assert!(store.open_session("worker", 5).await.unwrap() > second);
}

async fn a_commit_counts_and_a_second_one_does_not<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..4, 1)], 1).await.unwrap();
    assert_eq!(store.watermark(session).await.unwrap(), Some(0));
    assert_eq!(store.commit(&batch(session, 1, "run", &[(1, 1), (3, 1)]), 2).await.unwrap(), counted(&[1, 3]));
    assert_eq!(store.watermark(session).await.unwrap(), Some(1));
    let duplicate = Committed { duplicate: true, ..Committed::default() };
    assert_eq!(store.commit(&batch(session, 1, "run", &[(1, 1), (2, 1)]), 3).await.unwrap(), duplicate);
    assert_eq!(store.commit(&batch(session, 2, "run", &[(0, 1)]), 4).await.unwrap(), counted(&[0]));
    assert_eq!(store.commit(&batch(session, 1, "run", &[(2, 1)]), 5).await.unwrap(), duplicate);

    let stored = store.trials(&id("run"), 0, 10).await.unwrap();
    let found: Vec<_> = stored.iter().map(|one| (one.trial.number, one.first_sequence, one.last_sequence)).collect();
    assert_eq!(found, [(0, 1, 2), (1, 1, 1), (3, 1, 1)]);
    assert!(stored.iter().all(|one| one.session == session && one.trial == trial(one.trial.number, 1)));
    assert_eq!(store.spend(&id("run")).await.unwrap(), spend(Role::Agent, "a", 3), "of batch 1 and 2, each once");
}

async fn a_gap_is_refused_and_changes_nothing<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..4, 1)], 1).await.unwrap();
    for sequence in [2, 3, 1_000] {
        let refusal = store.commit(&batch(session, sequence, "run", &[(0, 1)]), 2).await.unwrap_err();
        assert!(matches!(refusal, Error::Failed(_)), "{sequence}: {refusal}");
    }
    assert_eq!(store.watermark(session).await.unwrap(), Some(0));
    assert_eq!(store.segments(&id("run"), session, 1, 9).await.unwrap().len(), 0);
    assert_eq!(numbers(store, "run").await, [0_u64; 0]);
    assert_eq!(store.commit(&batch(session, 1, "run", &[(0, 1)]), 2).await.unwrap(), counted(&[0]));
}

async fn a_stale_or_foreign_trial_is_fenced<S: Stand>() {
    let (stand, mine) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    let theirs = store.open_session("other worker", 1).await.unwrap();
    let granted = [lease(1, mine, "run", 0..4, 2), lease(2, theirs, "run", 4..8, 1), lease(3, mine, "other", 8..9, 2)];
    store.grant(&granted, 1).await.unwrap();
    let rows: [(&str, (u64, u32)); 7] = [
        ("an earlier epoch", (0, 1)),
        ("a later epoch", (0, 3)),
        ("lent to another session", (4, 1)),
        ("lent to another session, my epoch", (4, 2)),
        ("lent of another run", (8, 2)),
        ("lent to nobody", (100, 1)),
        ("just past the lease", (9, 2)),
    ];
    for (sequence, (why, trial)) in (1..).zip(rows) {
        let outcome = store.commit(&batch(mine, sequence, "run", &[trial]), 2).await.unwrap();
        assert_eq!(outcome, fenced(&[trial.0]), "{why}");
    }
    let mixed = batch(mine, 8, "run", &[(0, 1), (3, 2), (4, 1), (0, 2)]);
    let outcome = Committed { counted: vec![3, 0], fenced: vec![0, 4], ..Committed::default() };
    assert_eq!(store.commit(&mixed, 3).await.unwrap(), outcome);
    assert_eq!(numbers(store, "run").await, [0, 3]);
    assert_eq!(store.commit(&batch(theirs, 1, "run", &[(4, 1)]), 4).await.unwrap(), counted(&[4]));
}

async fn a_trial_counts_once_in_a_batch<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    // Both epochs are lent, which no scheduler does: the store has to hold all the same.
    store.grant(&[lease(1, session, "run", 0..2, 1), lease(2, session, "run", 0..2, 2)], 1).await.unwrap();
    let twice = batch(session, 1, "run", &[(0, 2), (0, 1), (1, 1), (1, 1)]);
    let outcome = Committed { counted: vec![0, 1], fenced: vec![0, 1], ..Committed::default() };
    assert_eq!(store.commit(&twice, 2).await.unwrap(), outcome);
    let epochs: Vec<_> = store.trials(&id("run"), 0, 9).await.unwrap().iter().map(|one| one.trial.epoch).collect();
    assert_eq!(epochs, [2, 1], "the first of the batch");
    assert_eq!(store.commit(&batch(session, 2, "run", &[(0, 1), (1, 2)]), 3).await.unwrap(), fenced(&[0, 1]));
}

async fn nothing_counts_after_the_session<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..4, 1)], 1).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(0, 1)]), 2).await.unwrap();
    store.end_session(session, "lost", false, 3).await.unwrap();

    let over = Committed { session_over: true, ..Committed::default() };
    for sequence in [1, 2, 7] {
        assert_eq!(store.commit(&batch(session, sequence, "run", &[(1, 1)]), 4).await.unwrap(), over, "{sequence}");
    }
    assert!(matches!(store.beat(session, Usd(1), 4).await, Err(Error::SessionOver(_))));
    assert!(matches!(store.grant(&[lease(2, session, "run", 4..5, 1)], 4).await, Err(Error::SessionOver(_))));
    store.release(session, &[lease(1, session, "run", 0..4, 1)]).await.unwrap();
    assert_eq!(store.watermark(session).await.unwrap(), None);
    assert_eq!(numbers(store, "run").await, [0]);
    assert_eq!(store.spend(&id("run")).await.unwrap(), spend(Role::Agent, "a", 1));
    assert_eq!(store.segments(&id("run"), session, 1, 9).await.unwrap(), [payload(session, 1)], "what it sent stays");
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 3, "a late release takes no loss back");
}

async fn a_closed_run_counts_nothing_more<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..9, 1)], 1).await.unwrap();
    let rows = [
        (RunState::Running, counted(&[0])),
        (RunState::Cancelled, fenced(&[1])),
        (RunState::Finished, fenced(&[2])),
        // Drained: what was being played still counts.
        (RunState::Interrupted, counted(&[3])),
    ];
    for (sequence, (state, outcome)) in (1_u64..).zip(rows) {
        store.set_state(&id("run"), state, None).await.unwrap();
        let found = store.commit(&batch(session, sequence, "run", &[(sequence - 1, 1)]), 2).await.unwrap();
        assert_eq!(found, outcome, "{state:?}");
    }
    assert_eq!(store.watermark(session).await.unwrap(), Some(4));
    assert_eq!(
        store.spend(&id("run")).await.unwrap().of(Role::Agent).calls,
        1 + 2 + 3 + 4,
        "money is spent all the same"
    );
}

async fn grants_are_whole_or_nothing<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[], 1).await.unwrap();
    let good = lease(1, session, "run", 0..2, 1);
    let rows = [
        ("an unknown session", lease(2, 99, "run", 2..3, 1)),
        ("an unknown run", lease(2, session, "ghost", 2..3, 1)),
        ("the same lease twice", good.clone()),
    ];
    for (why, bad) in rows {
        store.grant(&[good.clone(), bad], 1).await.unwrap_err();
        assert_eq!(store.recover(&id("run")).await.unwrap().leases, [], "{why}");
    }
    store.grant(std::slice::from_ref(&good), 1).await.unwrap();
    assert!(matches!(store.grant(std::slice::from_ref(&good), 1).await, Err(Error::Failed(_))));
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, [good]);
}

async fn an_ended_session_loses_what_is_not_done<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    let granted = [
        lease(5, session, "run", 10..20, 1),
        lease(6, session, "run", 30..33, 2),
        lease(4, session, "other", 0..2, 1),
        lease(7, session, "run", 40..41, 1),
    ];
    store.grant(&granted, 1).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(10, 1), (13, 1), (14, 1), (19, 1), (31, 2), (40, 1)]), 2).await.unwrap();
    let lost = store.end_session(session, "lost", false, 3).await.unwrap();
    let expected = [
        lease(4, session, "other", 0..2, 1),
        lease(5, session, "run", 11..13, 1),
        lease(5, session, "run", 15..19, 1),
        lease(6, session, "run", 30..31, 2),
        lease(6, session, "run", 32..33, 2),
    ];
    assert_eq!(lost, expected);
    let recovered = store.recover(&id("run")).await.unwrap();
    let expected = Recovered {
        done: vec![10..11, 13..15, 19..20, 31..32, 40..41],
        attempts: vec![(11, 1), (12, 1), (15, 1), (16, 1), (17, 1), (18, 1), (30, 2), (32, 2)],
        lost_attempts: 8,
        ..Recovered::default()
    };
    assert_eq!(recovered, expected);
    assert_eq!(store.recover(&id("other")).await.unwrap().lost_attempts, 2);
}

async fn solo_losses_are_told_apart<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let store = stand.store();
    for (epoch, solo) in [(1, false), (2, true), (3, true)] {
        let session = store.open_session("worker", 1).await.unwrap();
        store.grant(&[lease(1, session, "run", 6..7, epoch)], 1).await.unwrap();
        store.end_session(session, "lost", solo, 2).await.unwrap();
    }
    let session = store.open_session("worker", 3).await.unwrap();
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!(recovered.attempts, [(6, 3)]);
    assert_eq!(recovered.solo_losses, [(6, 2)]);
    assert_eq!(recovered.lost_attempts, 3);

    // Once it is done, the scheduler need not know any more.
    store.grant(&[lease(1, session, "run", 6..7, 4)], 3).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(6, 4)]), 4).await.unwrap();
    let expected = Recovered { done: vec![6..7; 1], lost_attempts: 3, ..Recovered::default() };
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);
}

async fn what_is_given_back_is_not_lost<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    let other = store.open_session("other worker", 1).await.unwrap();
    let granted = [
        lease(1, session, "run", 0..10, 1),
        lease(2, session, "run", 20..22, 1),
        lease(3, session, "run", 30..32, 2),
        lease(1, other, "run", 40..42, 1),
    ];
    store.grant(&granted, 1).await.unwrap();
    // The ids of what comes back mean nothing, and it may span leases and trials that were never lent.
    let back = [lease(0, session, "run", 3..5, 1), lease(0, session, "run", 8..50, 1)];
    store.release(session, &back).await.unwrap();
    let live = [
        lease(1, session, "run", 0..3, 1),
        lease(1, session, "run", 5..8, 1),
        lease(3, session, "run", 30..32, 2),
        lease(1, other, "run", 40..42, 1),
    ];
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, live);

    let outcome = Committed { counted: vec![0, 5], fenced: vec![3, 9, 20], ..Committed::default() };
    let late = batch(session, 1, "run", &[(0, 1), (3, 1), (5, 1), (9, 1), (20, 1)]);
    assert_eq!(store.commit(&late, 2).await.unwrap(), outcome);
    let lost =
        [lease(1, session, "run", 1..3, 1), lease(1, session, "run", 6..8, 1), lease(3, session, "run", 30..32, 2)];
    assert_eq!(store.end_session(session, "lost", false, 3).await.unwrap(), lost);
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 6);

    store.release(other, &[lease(1, other, "run", 40..42, 1)]).await.unwrap();
    store.release(other, &[lease(1, other, "run", 40..42, 1)]).await.unwrap();
    assert_eq!(store.end_session(other, "left", false, 4).await.unwrap(), []);
}

async fn a_lease_that_is_done_is_over<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..2, 1), lease(2, session, "run", 2..4, 1)], 1).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(0, 1), (1, 1), (2, 1)]), 2).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, [lease(2, session, "run", 2..4, 1)]);
    // Its id is free again with the next grant.
    store.grant(&[lease(1, session, "run", 0..1, 2), lease(1, session, "run", 7..8, 1)], 3).await.unwrap();
    let live = [lease(1, session, "run", 7..8, 1), lease(2, session, "run", 2..4, 1)];
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, live);
}

async fn unsettled_money_goes_to_the_runs_that_lost<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    for name in ["other", "third"] {
        store.create_run(&run(name), PLAN).await.unwrap();
    }
    let second = store.open_session("worker", 1).await.unwrap();
    let granted = [
        lease(1, first, "run", 0..1, 1),
        lease(2, first, "other", 0..1, 1),
        lease(3, first, "third", 0..1, 1),
        lease(1, second, "run", 1..2, 1),
    ];
    store.grant(&granted, 1).await.unwrap();
    for (session, nanos) in [(first, 999), (first, 40), (second, 2)] {
        store.beat(session, Usd(nanos), 2).await.unwrap();
    }
    store.commit(&batch(first, 1, "third", &[(0, 1)]), 2).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().unsettled, Usd(0), "while the worker lives it is its affair");
    store.end_session(first, "lost", false, 3).await.unwrap();
    store.end_session(second, "lost", false, 3).await.unwrap();
    for (name, nanos) in [("run", 42), ("other", 40), ("third", 0)] {
        assert_eq!(store.recover(&id(name)).await.unwrap().unsettled, Usd(nanos), "{name}");
    }
}

async fn all_comes_back_after_a_restart<S: Stand>() {
    let (stand, lost) = ready::<S>().await;
    let store = stand.store();
    let live = store.open_session("worker", 1).await.unwrap();
    let granted = [lease(1, lost, "run", 0..3, 1), lease(2, live, "run", 3..6, 1)];
    store.grant(&granted, 1).await.unwrap();
    store.commit(&batch(lost, 1, "run", &[(1, 1)]), 2).await.unwrap();
    store.commit(&batch(live, 1, "run", &[(3, 1)]), 2).await.unwrap();
    store.beat(lost, Usd(30), 2).await.unwrap();
    store.end_session(lost, "lost", true, 3).await.unwrap();
    let expected = Recovered {
        done: vec![1..2, 3..4],
        attempts: vec![(0, 1), (2, 1)],
        solo_losses: vec![(0, 1), (2, 1)],
        leases: vec![lease(2, live, "run", 3..6, 1)],
        lost_attempts: 2,
        unsettled: Usd(30),
    };
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);

    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);
    assert_eq!(store.run(&id("run")).await.unwrap(), Some(run("run")));
    assert_eq!(store.watermark(lost).await.unwrap(), None);
    assert_eq!(store.watermark(live).await.unwrap(), Some(1));
    // The session that lived goes on where it was, and no id is given twice.
    assert!(store.commit(&batch(live, 1, "run", &[(4, 1)]), 4).await.unwrap().duplicate);
    assert_eq!(store.commit(&batch(live, 2, "run", &[(4, 1)]), 4).await.unwrap(), counted(&[4]));
    assert!(store.open_session("worker", 5).await.unwrap() > live);
}

async fn trials_come_in_pages<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..100, 1)], 1).await.unwrap();
    let ended: Vec<_> = (0..100).rev().filter(|number| number % 3 != 0).map(|number| (number, 1)).collect();
    store.commit(&batch(session, 1, "run", &ended), 2).await.unwrap();
    let rows: [(u64, u32, &[u64]); 6] =
        [(0, 3, &[1, 2, 4]), (4, 2, &[4, 5]), (6, 2, &[7, 8]), (97, 10, &[97, 98]), (99, 10, &[]), (u64::MAX, 10, &[])];
    for (first, limit, expected) in rows {
        let page = store.trials(&id("run"), first, limit).await.unwrap();
        let found: Vec<_> = page.iter().map(|stored| stored.trial.number).collect();
        assert_eq!(found, expected, "{limit} from {first}");
    }
    assert_eq!(store.trials(&id("run"), 0, 0).await.unwrap(), []);
}

async fn segments_come_by_run_and_sequence<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    for sequence in 1..=6 {
        let name = if sequence == 3 { "other" } else { "run" };
        store.commit(&batch(session, sequence, name, &[]), 1).await.unwrap();
    }
    let rows: [(&str, u64, u64, &[u64]); 6] = [
        ("run", 2, 4, &[2, 4]),
        ("run", 0, u64::MAX, &[1, 2, 4, 5, 6]),
        ("other", 0, u64::MAX, &[3]),
        ("run", 6, 6, &[6]),
        ("run", 7, 9, &[]),
        ("run", 5, 4, &[]),
    ];
    for (name, first, last, expected) in rows {
        let found = store.segments(&id(name), session, first, last).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|sequence| payload(session, *sequence)).collect();
        assert_eq!(found, expected, "{name} {first}..={last}");
    }
}

async fn spend_adds_up<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    assert_eq!(store.spend(&id("run")).await.unwrap(), Spend::default());
    let mut sum = Spend::default();
    let used = [
        spend(Role::Agent, "a", 3),
        Spend::default(),
        spend(Role::Judge, "a", 1),
        spend(Role::Agent, "b", 4),
        spend(Role::Agent, "a", 1),
    ];
    for (sequence, used) in (1_u64..).zip(used) {
        let mut commit = batch(session, sequence, "run", &[(9, 9)]);
        commit.segment.spend = used.clone();
        store.commit(&commit, 1).await.unwrap();
        sum.add(&used);
    }
    assert_eq!(store.spend(&id("run")).await.unwrap(), sum, "of a lost attempt, too");
}

async fn a_thousand_trials_fit_one_batch<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..1_000, 1)], 1).await.unwrap();
    let all: Vec<u64> = (0..1_000).collect();
    let ended: Vec<_> = all.iter().map(|number| (*number, 1)).collect();
    assert_eq!(store.commit(&batch(session, 1, "run", &ended), 2).await.unwrap(), counted(&all));
    assert_eq!(numbers(store, "run").await, all);
    assert_eq!(store.recover(&id("run")).await.unwrap().done, [(0..1_000)]);
}
