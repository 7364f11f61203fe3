//! Batches of results: what counts, what is fenced, what is refused.

use record::{Failure, FailureKind, Role, Usd, Verdict, summary::RunState, trial::Past};
use store::{Commit, Committed, Error, Store};

use super::{counted, fenced, numbers, ready};
use crate::{
    samples::{PLAN, batch, id, lease, piece, pieces, run, spend, token, trial, words},
    stand::Stand,
};

pub(super) async fn a_commit_counts_and_a_second_one_does_not<S: Stand>() {
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
    let found: Vec<_> = stored.iter().map(|one| (one.trial.number, one.pieces.clone())).collect();
    assert_eq!(found, [(0, vec![piece(1, 0), piece(2, 0)]), (1, vec![piece(1, 0)]), (3, vec![piece(1, 0)])]);
    assert!(stored.iter().all(|one| one.session == session && one.trial == trial(one.trial.number, 1)));
    assert_eq!(store.spend(&id("run")).await.unwrap(), spend(Role::Agent, "a", 3), "of batch 1 and 2, each once");
}

pub(super) async fn a_gap_is_refused_and_changes_nothing<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..4, 1)], 1).await.unwrap();
    for sequence in [2, 3, 1_000] {
        let refusal = store.commit(&batch(session, sequence, "run", &[(0, 1)]), 2).await.unwrap_err();
        assert!(matches!(refusal, Error::Failed(_)), "{sequence}: {refusal}");
    }
    assert_eq!(store.watermark(session).await.unwrap(), Some(0));
    assert_eq!(words(store, "run", session, 2).await, "");
    assert_eq!(numbers(store, "run").await, [0_u64; 0]);
    assert_eq!(store.commit(&batch(session, 1, "run", &[(0, 1)]), 2).await.unwrap(), counted(&[0]));
}

pub(super) async fn a_stale_or_foreign_trial_is_fenced<S: Stand>() {
    let (stand, mine) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    let theirs = store.open_session("other worker", &token(), 1).await.unwrap();
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

pub(super) async fn a_trial_counts_once_in_a_batch<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    // Both epochs are leased, which no scheduler does: the store must cope.
    store.grant(&[lease(1, session, "run", 0..2, 1), lease(2, session, "run", 0..2, 2)], 1).await.unwrap();
    let twice = batch(session, 1, "run", &[(0, 2), (0, 1), (1, 1), (1, 1)]);
    let outcome = Committed { counted: vec![0, 1], fenced: vec![0, 1], ..Committed::default() };
    assert_eq!(store.commit(&twice, 2).await.unwrap(), outcome);
    let epochs: Vec<_> = store.trials(&id("run"), 0, 9).await.unwrap().iter().map(|one| one.trial.epoch).collect();
    assert_eq!(epochs, [2, 1], "the first of the batch");
    let earlier = batch(session, 2, "run", &[(1, 1)]);
    assert_eq!(store.commit(&earlier, 3).await.unwrap(), fenced(&[1]), "the session counted it in batch 1");
    assert_eq!(store.commit(&batch(session, 3, "run", &[(0, 1), (1, 2)]), 4).await.unwrap(), fenced(&[0, 1]));
}

pub(super) async fn nothing_counts_after_the_session<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..4, 1)], 1).await.unwrap();
    store.commit(&batch(session, 1, "run", &[(0, 1)]), 2).await.unwrap();
    store.end_session(session, "lost", false, &[], 3).await.unwrap();

    let over = Committed { session_over: true, ..Committed::default() };
    for sequence in [1, 2, 7] {
        assert_eq!(store.commit(&batch(session, sequence, "run", &[(1, 1)]), 4).await.unwrap(), over, "{sequence}");
    }
    assert!(matches!(store.heartbeat(session, Usd(1), &[], 2).await, Err(Error::SessionOver(_))));
    assert!(matches!(store.grant(&[lease(2, session, "run", 4..5, 1)], 4).await, Err(Error::SessionOver(_))));
    store.release(session, &[lease(1, session, "run", 0..4, 1)], false, 3).await.unwrap();
    assert_eq!(store.watermark(session).await.unwrap(), None);
    assert_eq!(numbers(store, "run").await, [0]);
    assert_eq!(store.spend(&id("run")).await.unwrap(), spend(Role::Agent, "a", 1));
    assert_eq!(words(store, "run", session, 1).await, pieces(session, 1).concat(), "what it sent stays");
    assert_eq!(store.recover(&id("run")).await.unwrap().lost_attempts, 3, "a late release takes no loss back");
}

pub(super) async fn a_closed_run_counts_nothing_more<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..9, 1)], 1).await.unwrap();
    let rows = [
        (RunState::Running, counted(&[0])),
        (RunState::Cancelled, fenced(&[1])),
        (RunState::Finished, fenced(&[2])),
        // Drained: running trials still count.
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

pub(super) async fn a_thousand_trials_fit_one_batch<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..1_000, 1)], 1).await.unwrap();
    let all: Vec<u64> = (0..1_000).collect();
    let ended: Vec<_> = all.iter().map(|number| (*number, 1)).collect();
    assert_eq!(store.commit(&batch(session, 1, "run", &ended), 2).await.unwrap(), counted(&all));
    assert_eq!(numbers(store, "run").await, all);
    let done = store.recover(&id("run")).await.unwrap().done;
    assert_eq!((done.len(), done.first()), (1, Some(&(0..1_000))));
}

/// A batch in which one trial ended in this way.
fn ended_as(session: u64, sequence: u64, number: u64, epoch: u32, kind: FailureKind) -> Commit {
    let mut commit = batch(session, sequence, "run", &[(number, epoch)]);
    let trial = &mut commit.ended[0].trial;
    (trial.verdict, trial.failure) = (Verdict::Error, Some(Failure::new(kind, "")));
    trial.exhausted = kind == FailureKind::ProviderExhausted;
    Commit { replays: 2, ..commit }
}

fn again(numbers: &[u64]) -> Committed {
    Committed { again: numbers.to_vec(), ..Committed::default() }
}

/// As [`counted`], of one trial with a past.
fn counted_after(number: u64, failed: u32, broken: u32) -> Committed {
    Committed { pasts: [(number, Past { failed, broken })].into(), ..counted(&[number]) }
}

pub(super) async fn what_our_side_broke_is_played_again_as_often_as_it_may<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    let broken = |epoch: u32| ended_as(session, epoch.into(), 4, epoch, FailureKind::SimulatorFailed);
    for (epoch, outcome) in [(1, again(&[4])), (2, again(&[4])), (3, counted_after(4, 0, 2))] {
        store.grant(&[lease(epoch.into(), session, "run", 4..5, epoch)], 1).await.unwrap();
        assert_eq!(store.commit(&broken(epoch), 2).await.unwrap(), outcome, "epoch {epoch}");
        let recovered = store.recover(&id("run")).await.unwrap();
        let done = epoch == 3;
        assert_eq!(recovered.done.is_empty(), !done);
        assert_eq!(recovered.attempts, if done { vec![] } else { vec![(4, epoch)] });
        assert_eq!((recovered.replayed_attempts, recovered.lost_attempts), (u64::from(epoch) - 1, 0));
        assert_eq!((recovered.replayed_trials, recovered.replayed_failed), (u64::from(epoch > 1), 0));
        let stored = store.trials(&id("run"), 0, 9).await.unwrap();
        assert_eq!((stored.len(), stored[0].trial.epoch, stored[0].again), (1, epoch, !done), "the latest end");
        assert_eq!(stored[0].trial.past, Past { failed: 0, broken: epoch - 1 });
        assert_eq!(stored[0].pieces.last().map(|piece| piece.sequence), Some(epoch.into()));
    }
    // The end of an earlier attempt no longer matters.
    store.grant(&[lease(9, session, "run", 4..5, 4)], 1).await.unwrap();
    assert_eq!(store.commit(&batch(session, 4, "run", &[(4, 4), (4, 2)]), 3).await.unwrap(), fenced(&[4, 4]));
    assert_eq!(store.spend(&id("run")).await.unwrap().of(Role::Agent).calls, 10, "of all attempts");
}

pub(super) async fn a_replay_may_end_in_the_same_batch<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    // Both epochs are leased, which no scheduler does: the store must cope.
    store.grant(&[lease(1, session, "run", 0..2, 1), lease(2, session, "run", 0..2, 2)], 1).await.unwrap();
    let mut twice = batch(session, 1, "run", &[(0, 1), (1, 1), (0, 2)]);
    twice.ended[0].trial = ended_as(session, 1, 0, 1, FailureKind::ProviderExhausted).ended[0].trial.clone();
    let outcome = Committed {
        counted: vec![1, 0],
        again: vec![0],
        pasts: [(0, Past { failed: 0, broken: 1 })].into(),
        ..Committed::default()
    };
    assert_eq!(store.commit(&twice, 2).await.unwrap(), outcome);
    assert!(store.run(&id("run")).await.unwrap().unwrap().exhausted, "the first end used up the quota");
    let stored = store.trials(&id("run"), 0, 9).await.unwrap();
    let ends: Vec<_> = stored.iter().map(|one| (one.trial.number, one.trial.epoch, one.again)).collect();
    assert_eq!(ends, [(0, 2, false), (1, 1, false)]);
}

pub(super) async fn a_used_up_quota_waits_for_somebody_to_resume<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    for epoch in 1..=4 {
        store.grant(&[lease(epoch.into(), session, "run", 0..1, epoch)], 1).await.unwrap();
        let ended = ended_as(session, epoch.into(), 0, epoch, FailureKind::ProviderExhausted);
        assert_eq!(store.commit(&ended, 2).await.unwrap(), again(&[0]), "however often");
        assert!(store.run(&id("run")).await.unwrap().unwrap().exhausted);
        store.set_state(&id("run"), RunState::Interrupted, Some(3)).await.unwrap();
        store.resume(&id("run"), &[], 2).await.unwrap();
        let row = store.run(&id("run")).await.unwrap().unwrap();
        assert_eq!((row.exhausted, row.state, row.ended_at), (false, RunState::Running, None));
    }
    // It is counted too after a verdict on the agent's reply, and the verdict stays.
    let mut hidden = batch(session, 5, "run", &[(0, 5)]);
    hidden.ended[0].trial.exhausted = true;
    store.grant(&[lease(9, session, "run", 0..1, 5)], 1).await.unwrap();
    assert_eq!(store.commit(&hidden, 2).await.unwrap(), counted_after(0, 0, 4));
    assert!(store.run(&id("run")).await.unwrap().unwrap().exhausted);
}

pub(super) async fn a_resumed_run_plays_again_what_is_named<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..3, 1)], 1).await.unwrap();
    let mut first = batch(session, 1, "run", &[(0, 1), (1, 1), (2, 1)]);
    // A worker's claim about the past is ignored.
    first.ended.iter_mut().for_each(|ended| ended.trial.past = Past { failed: 9, broken: 9 });
    (first.ended[1].trial.verdict, first.ended[1].trial.failure) =
        (Verdict::Fail, Some(Failure::new(FailureKind::CheckFailed, "")));
    assert_eq!(store.commit(&first, 2).await.unwrap(), counted(&[0, 1, 2]));
    store.set_state(&id("run"), RunState::Finished, Some(3)).await.unwrap();
    store.resume(&id("run"), &[1, 7], 1).await.unwrap();
    let stand = stand.reopen().await;
    let store = stand.store();
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!((recovered.done, recovered.attempts), (vec![0..1, 2..3], vec![(1, 1)]));
    assert!(recovered.leases.is_empty() && recovered.losses.is_empty(), "the lease of before is over");
    assert_eq!(numbers(store, "run").await, [0, 1, 2], "until then its end is the one that is known");
    store.grant(&[lease(2, session, "run", 1..2, 2)], 4).await.unwrap();
    let broken = ended_as(session, 2, 1, 2, FailureKind::JudgeFailed);
    assert_eq!(store.commit(&broken, 4).await.unwrap(), again(&[1]), "it may be played again as a new one may");
    store.grant(&[lease(3, session, "run", 1..2, 3)], 4).await.unwrap();
    assert_eq!(store.commit(&batch(session, 3, "run", &[(1, 3)]), 4).await.unwrap(), counted_after(1, 1, 0));
    let stored = store.trials(&id("run"), 0, 9).await.unwrap();
    assert_eq!(stored[1].trial.past, Past { failed: 1, broken: 0 }, "it failed first, and we broke it after that");
    assert_eq!(stored[0].trial.past, Past::default());
    let recovered = store.recover(&id("run")).await.unwrap();
    assert_eq!((recovered.replayed_attempts, recovered.replayed_failed), (2, 1));
    let ghost = store.resume(&id("ghost"), &[], 1).await.unwrap_err();
    assert!(matches!(ghost, Error::UnknownRun(_)), "{ghost}");
}
