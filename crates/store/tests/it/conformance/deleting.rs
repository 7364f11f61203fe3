//! Deleting runs, and the attempts that do not count.

use record::{
    decision::{Decided, Decision},
    summary::RunState,
};
use store::{AttemptEnd, Error, Moved, Store, StoredAttempt};

use super::{counted, numbers, ready};
use crate::{
    samples::{PLAN, batch, broken, id, lease, piece, run, token, words},
    stand::Stand,
};

pub(super) async fn attempts_that_do_not_count_are_kept<S: Stand>() {
    let (stand, first) = ready::<S>().await;
    let store = stand.store();
    assert_eq!(store.attempts(&id("run"), None, 9).await.unwrap(), []);
    store.grant(&[lease(1, first, "run", 0..3, 1)], 1).await.unwrap();
    // Trial 1 breaks twice, trial 2 is lost and given up, trial 0 passes at once.
    let mut commit = batch(first, 1, "run", &[(0, 1), (1, 1)]);
    commit.ended[1].trial = broken(1, 1);
    assert_eq!(store.commit(&commit, 2).await.unwrap().again, [1]);
    store.end_session(first, "lost", false, &[], 5).await.unwrap();
    let second = store.open_session("worker", &token(), 6).await.unwrap();
    store.grant(&[lease(1, second, "run", 1..3, 2)], 6).await.unwrap();
    store.release(second, &[lease(1, second, "run", 2..3, 2)], true, 7).await.unwrap();
    let mut commit = batch(second, 1, "run", &[(1, 2)]);
    commit.ended[0].trial = broken(1, 2);
    assert_eq!(store.commit(&commit, 8).await.unwrap().counted, [1], "one replay is allowed");
    let stand = stand.reopen().await;
    let store = stand.store();
    let lost = |epoch, session, given_up, at| StoredAttempt {
        number: 2,
        epoch,
        session,
        end: AttemptEnd::Lost { begun: true, given_up, at },
    };
    let replaced = AttemptEnd::Replaced(Box::new(broken(1, 1)));
    let all = [
        StoredAttempt { number: 1, epoch: 1, session: first, end: replaced },
        lost(1, first, false, 5),
        lost(2, second, true, 7),
    ];
    assert_eq!(store.attempts(&id("run"), None, 9).await.unwrap(), all);
    let mut paged = Vec::new();
    while let Some(one) = {
        let after = paged.last().map(|one: &StoredAttempt| (one.number, one.epoch));
        store.attempts(&id("run"), after, 1).await.unwrap().pop()
    } {
        paged.push(one);
    }
    assert_eq!(paged, all);
    assert!(matches!(store.attempts(&id("other"), None, 9).await, Err(Error::UnknownRun(_))));
}

pub(super) async fn a_deleted_run_is_gone_and_others_stay<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    store.grant(&[lease(1, session, "run", 0..9, 1), lease(2, session, "other", 0..9, 1)], 1).await.unwrap();
    for (sequence, name) in [(1, "run"), (2, "other"), (3, "run"), (4, "other"), (5, "run")] {
        store.commit(&batch(session, sequence, name, &[(sequence, 1)]), 2).await.unwrap();
    }
    let paused = Decision { at: 3, load_micros: None, by: None, what: Decided::Paused };
    for name in ["run", "other"] {
        store.decide(&id(name), &paused, Moved::default()).await.unwrap();
    }
    assert!(matches!(store.delete_run(&id("nobody")).await, Err(Error::UnknownRun(_))));
    assert!(matches!(store.delete_run(&id("run")).await, Err(Error::Running(_))));
    store.set_state(&id("run"), RunState::Interrupted, Some(3)).await.unwrap();
    assert!(matches!(store.delete_run(&id("run")).await, Err(Error::Running(_))), "a worker holds trials of it");
    store.release(session, &[lease(1, session, "run", 0..9, 1)], true, 4).await.unwrap();
    store.delete_run(&id("run")).await.unwrap();
    assert_eq!(store.run(&id("run")).await.unwrap(), None);
    let left: Vec<_> = store.runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(left, [id("other")]);
    assert!(matches!(store.trials(&id("run"), 0, 9).await, Err(Error::UnknownRun(_))));
    // Its id is free at once, and what is swept is the old run.
    store.create_run(&run("run"), PLAN).await.unwrap();
    let mut sweeps = 0;
    while store.sweep(1).await.unwrap() {
        sweeps += 1;
    }
    assert!(sweeps < 50, "{sweeps}");
    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(numbers(store, "run").await, [0_u64; 0]);
    assert_eq!(store.attempts(&id("run"), None, 9).await.unwrap(), []);
    assert!(store.spend(&id("run")).await.unwrap().is_empty());
    assert_eq!(store.recover(&id("run")).await.unwrap().decisions, []);
    assert_eq!(store.plan(&run("run").plan_digest).await.unwrap().unwrap(), PLAN);
    assert_eq!(words(store, "run", session, 1).await.len(), 0);
    // The other run has everything, and its session goes on.
    assert_eq!(numbers(store, "other").await, [2, 4]);
    assert_eq!(store.recover(&id("other")).await.unwrap().decisions, [paused]);
    assert_eq!(words(store, "other", session, 4).await, crate::samples::pieces(session, 4).concat());
    let asked = [(session, piece(4, 0)), (session, piece(2, 0))];
    assert!(store.pieces(&id("other"), &asked).await.unwrap().iter().all(|piece| !piece.is_empty()));
    assert_eq!(store.commit(&batch(session, 6, "other", &[(6, 1)]), 9).await.unwrap(), counted(&[6]));
    assert_eq!(words(store, "other", session, 6).await, crate::samples::pieces(session, 6).concat());
    assert!(!store.sweep(9).await.unwrap());
}
