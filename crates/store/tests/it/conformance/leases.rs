//! Leases, and what happens to them when a worker goes away.

use record::{Failure, FailureKind, Usd, Verdict};
use scenario::Digest;
use store::{Committed, Error, Lease, Losses, Recovered, Store};

use super::ready;
use crate::{
    samples::{PLAN, batch, id, lease, lost, run, token},
    stand::Stand,
};

pub(super) async fn sessions_ascend_and_end_once<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    let second = store.open_session("worker", &token(), 2).await.unwrap();
    assert!(second > first, "{second} after {first}");
    store.grant(&[lease(1, first, "run", 0..2, 1)], 2).await.unwrap();
    assert_eq!(store.end_session(first, "lost", false, &[], 3).await.unwrap(), [lease(1, first, "run", 0..2, 1)]);
    assert_eq!(store.end_session(first, "lost", false, &[], 4).await.unwrap(), []);
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 2);
    assert!(store.open_session("worker", &token(), 5).await.unwrap() > second);
}

pub(super) async fn grants_are_whole_or_nothing<S: Stand>() {
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

pub(super) async fn an_ended_session_loses_what_is_not_done<S: Stand>() {
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
    let gone = store.end_session(session, "lost", false, &[], 3).await.unwrap();
    let expected = [
        lease(4, session, "other", 0..2, 1),
        lease(5, session, "run", 11..13, 1),
        lease(5, session, "run", 15..19, 1),
        lease(6, session, "run", 30..31, 2),
        lease(6, session, "run", 32..33, 2),
    ];
    assert_eq!(gone, expected);
    let recovered = store.recover(&id("run")).await.unwrap();
    let expected = Recovered {
        done: vec![10..11, 13..15, 19..20, 31..32, 40..41],
        attempts: vec![(11, 1), (12, 1), (15, 1), (16, 1), (17, 1), (18, 1), (30, 2), (32, 2)],
        losses: [11, 12, 15, 16, 17, 18, 30, 32].map(|number| lost(number, 1, session)).to_vec(),
        lost_attempts: 8,
        ..Recovered::default()
    };
    assert_eq!(recovered, expected);
    assert_eq!(store.recover(&id("other")).await.unwrap().lost_attempts, 2);
}

pub(super) async fn proof_is_told_apart<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let store = stand.store();
    let mut last = 0;
    for (epoch, proof) in [(1, false), (2, true), (3, true)] {
        let session = store.open_session("worker", &token(), 1).await.unwrap();
        store.grant(&[lease(1, session, "run", 6..7, epoch)], 1).await.unwrap();
        store.end_session(session, "lost", proof, &[], 2).await.unwrap();
        last = session;
    }
    let session = store.open_session("worker", &token(), 3).await.unwrap();
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!(recovered.attempts, [(6, 3)]);
    assert_eq!(recovered.losses, [Losses { proof: 2, ..lost(6, 3, last) }]);
    assert_eq!(recovered.lost_attempts, 3);

    // Once it is done, the scheduler does not need it.
    store.grant(&[lease(1, session, "run", 6..7, 4)], 3).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(6, 4)]), 4).await.unwrap();
    let expected = Recovered { done: vec![6..7; 1], lost_attempts: 3, ..Recovered::default() };
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);
}

pub(super) async fn released_trials_are_not_lost<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    let other = store.open_session("other worker", &token(), 1).await.unwrap();
    let granted = [
        lease(1, session, "run", 0..10, 1),
        lease(2, session, "run", 20..22, 1),
        lease(3, session, "run", 30..32, 2),
        lease(1, other, "run", 40..42, 1),
    ];
    store.grant(&granted, 1).await.unwrap();
    // The ids of released leases mean nothing, and a release may span leases and trials that were never leased.
    let back = [lease(0, session, "run", 3..5, 1), lease(0, session, "run", 8..50, 1)];
    store.release(session, &back, false, 3).await.unwrap();
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
    assert_eq!(store.end_session(session, "lost", false, &[], 3).await.unwrap(), lost);
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 6);
    assert_eq!(store.lost_over_time(&id("run"), 0).await.unwrap(), []);

    store.release(other, &[lease(1, other, "run", 40..42, 1)], false, 3).await.unwrap();
    store.release(other, &[lease(1, other, "run", 40..42, 1)], false, 3).await.unwrap();
    assert_eq!(store.end_session(other, "left", false, &[], 4).await.unwrap(), []);
}

pub(super) async fn a_lease_that_is_done_is_over<S: Stand>() {
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

pub(super) async fn unsettled_money_goes_to_the_runs_that_lost<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    for name in ["other", "third"] {
        store.create_run(&run(name), PLAN).await.unwrap();
    }
    let second = store.open_session("worker", &token(), 1).await.unwrap();
    let granted = [
        lease(1, first, "run", 0..1, 1),
        lease(2, first, "other", 0..1, 1),
        lease(3, first, "third", 0..1, 1),
        lease(1, second, "run", 1..2, 1),
    ];
    store.grant(&granted, 1).await.unwrap();
    for (session, nanos) in [(first, 999), (first, 40), (second, 2)] {
        store.heartbeat(session, Usd(nanos), &[], 2).await.unwrap();
    }
    store.commit(&batch(first, 1, "third", &[(0, 1)]), 2).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().unsettled, Usd(0), "while the worker lives it is its affair");
    store.end_session(first, "lost", false, &[], 3).await.unwrap();
    store.end_session(second, "lost", false, &[], 3).await.unwrap();
    for (name, nanos) in [("run", 42), ("other", 40), ("third", 0)] {
        assert_eq!(store.recover(&id(name)).await.unwrap().unsettled, Usd(nanos), "{name}");
    }
}

pub(super) async fn what_was_begun_and_given_up_is_another_attempt<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..6, 1)], 1).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(4, 1)]), 2).await.unwrap();
    store.release(session, &[lease(0, session, "run", 0..1, 1)], false, 3).await.unwrap();
    store.release(session, &[lease(0, session, "run", 3..6, 1)], true, 3).await.unwrap();
    let recovered = store.recover(&id("run")).await.unwrap();
    let expected = Recovered {
        done: vec![4..5; 1],
        attempts: vec![(3, 1), (5, 1)],
        leases: vec![lease(1, session, "run", 1..3, 1)],
        seen: vec![(session, 2)],
        lost_attempts: 2,
        ..Recovered::default()
    };
    assert_eq!(recovered, expected, "nobody is suspected of anything");
}

pub(super) async fn a_lease_has_nothing_to_do_with_a_later_attempt<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    let other = store.open_session("other worker", &token(), 1).await.unwrap();
    store.grant(&[lease(1, session, "run", 0..2, 1)], 1).await.unwrap();
    let mut broken = batch(session, 1, "run", &[(0, 1)]);
    let trial = &mut broken.ended[0].trial;
    (trial.verdict, trial.failure) = (Verdict::Error, Some(Failure::new(FailureKind::HookFailed, "")));
    assert_eq!(store.commit(&broken, 2).await.unwrap().again, [0]);
    store.grant(&[lease(1, other, "run", 0..1, 2)], 3).await.unwrap();
    // The first lease still has its other trial, and only that one is lost with it.
    assert_eq!(store.end_session(session, "lost", false, &[], 4).await.unwrap(), [lease(1, session, "run", 1..2, 1)]);
    assert_eq!(store.end_session(other, "lost", true, &[], 5).await.unwrap(), [lease(1, other, "run", 0..1, 2)]);
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!(recovered.attempts, [(0, 2), (1, 1)]);
    let alone = Losses { proof: 1, ..lost(0, 1, other) };
    assert_eq!(recovered.losses, [alone, lost(1, 1, session)]);
}

pub(super) async fn only_what_had_begun_is_lost<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    // As leased: the first of two leases plays two trials, the second waits.
    let granted = [
        Lease { begun: 2, ..lease(1, session, "run", 0..4, 1) },
        Lease { begun: 4, ..lease(2, session, "run", 4..9, 1) },
    ];
    store.grant(&granted, 1).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, granted);
    // Other runs, epochs and trials that were never leased change nothing.
    let foreign =
        [lease(0, session, "run", 0..9, 2), lease(0, session, "other", 0..9, 1), lease(0, session, "run", 20..30, 1)];
    store.heartbeat(session, Usd(0), &foreign, 2).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().leases, granted);
    let mut committed = batch(session, 1, "run", &[(0, 1)]);
    committed.begun = vec![lease(0, session, "run", 2..5, 1)];
    store.commit(&committed, 3).await.unwrap();
    let leases = store.recover(&id("run")).await.unwrap().leases;
    assert_eq!(leases.iter().map(|lease| lease.begun).collect::<Vec<_>>(), [4, 5]);
    // A worker's last message: one more had begun, and an earlier message changes nothing back.
    let last = [lease(0, session, "run", 5..6, 1), lease(0, session, "run", 0..1, 1)];
    let gone = store.end_session(session, "lost", false, &last, 4).await.unwrap();
    let begun: Vec<_> = gone.iter().map(|lease| (lease.trials.clone(), lease.begun_trials())).collect();
    assert_eq!(begun, [(1..4, 3), (4..9, 2)]);
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!(recovered.attempts, (1..9).map(|number| (number, 1)).collect::<Vec<_>>(), "another epoch for each");
    assert_eq!(recovered.lost_attempts, 5, "1 to 5 had begun");
    assert_eq!(store.lost_over_time(&id("run"), 9).await.unwrap(), [(4, 5)], "all when their session ended");
    assert_eq!(recovered.losses[5], Losses { all: 1, ..lost(6, 0, session) });
}

pub(super) async fn what_begins_is_known_after_a_restart<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let granted = Lease { begun: 0, ..lease(1, session, "run", 0..4, 1) };
    stand.store().grant(std::slice::from_ref(&granted), 1).await.unwrap();
    stand.store().heartbeat(session, Usd(7), &[lease(0, session, "run", 0..3, 1)], 20).await.unwrap();
    let stand = stand.reopen().await;
    let store = stand.store();
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!((recovered.leases, recovered.seen), (vec![Lease { begun: 3, ..granted }], vec![(session, 20)]));
    // A release splits the lease, and each part keeps its own progress.
    store.release(session, &[lease(0, session, "run", 1..2, 1)], true, 21).await.unwrap();
    let begun: Vec<_> = store.recover(&id("run")).await.unwrap().leases.iter().map(Lease::begun_trials).collect();
    assert_eq!(begun, [1, 1]);
    store.commit(&batch(session, 1, "run", &[]), 33).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().seen, [(session, 33)]);
}

pub(super) async fn a_session_is_its_worker_s<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let other = stand.store().open_session("another worker", &Digest::of(b"another secret"), 1).await.unwrap();
    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(store.token(session).await.unwrap(), Some(token()));
    assert_eq!(store.token(other).await.unwrap(), Some(Digest::of(b"another secret")));
    store.end_session(other, "lost", false, &[], 2).await.unwrap();
    assert_eq!(store.token(other).await.unwrap(), None);
    assert_eq!(store.token(99).await.unwrap(), None);
}

pub(super) async fn losses_of_before_an_end_say_nothing<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, first, "run", 0..1, 1)], 1).await.unwrap();
    store.end_session(first, "lost", true, &[], 2).await.unwrap();
    let second = store.open_session("worker", &token(), 3).await.unwrap();
    store.grant(&[lease(1, second, "run", 0..1, 2)], 3).await.unwrap();
    let mut broken = batch(second, 1, "run", &[(0, 2)]);
    let trial = &mut broken.ended[0].trial;
    (trial.verdict, trial.failure) = (Verdict::Error, Some(Failure::new(FailureKind::HookFailed, "")));
    assert_eq!(store.commit(&broken, 4).await.unwrap().again, [0]);
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!((recovered.attempts, recovered.losses), (vec![(0, 2)], vec![]), "it ended, and brought nothing down");
    store.grant(&[lease(2, second, "run", 0..1, 3)], 5).await.unwrap();
    store.end_session(second, "lost", false, &[], 6).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().losses, [lost(0, 1, second)]);
}
