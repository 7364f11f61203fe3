//! What is read back: pages, segments, sums, and all of it after a restart.

use record::{
    Role, Tokens, Usd,
    call::{Spend, SpendLine},
};
use store::{Recovered, Store};

use super::{counted, ready};
use crate::{
    samples::{PLAN, batch, id, lease, payload, run, spend},
    stand::Stand,
};

pub(super) async fn all_comes_back_after_a_restart<S: Stand>() {
    let (stand, lost) = ready::<S>().await;
    let store = stand.store();
    let live = store.open_session("worker", 1).await.unwrap();
    let granted = [lease(1, lost, "run", 0..3, 1), lease(2, live, "run", 3..6, 1)];
    store.grant(&granted, 1).await.unwrap();
    store.commit(&batch(lost, 1, "run", &[(1, 1)]), 2).await.unwrap();
    store.commit(&batch(live, 1, "run", &[(3, 1)]), 2).await.unwrap();
    store.beat(lost, Usd(30)).await.unwrap();
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

pub(super) async fn trials_come_in_pages<S: Stand>() {
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

pub(super) async fn segments_come_by_run_and_sequence<S: Stand>() {
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

pub(super) async fn spend_adds_up<S: Stand>() {
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

pub(super) async fn absurd_bills_saturate<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    let most = i64::MAX.unsigned_abs();
    for sequence in 1..=3 {
        let mut commit = batch(session, sequence, "run", &[]);
        let tokens = Tokens { input: most, output: sequence };
        let line = SpendLine { calls: most, tokens, cost: Usd(i64::MAX), unpriced_calls: most };
        commit.segment.spend = Spend::default();
        commit.segment.spend.add_line(Role::Judge, "m", line);
        store.commit(&commit, 1).await.unwrap();
    }
    let sum = store.spend(&id("run")).await.unwrap().of(Role::Judge);
    assert_eq!((sum.cost, sum.tokens.output), (Usd(i64::MAX), 6));
    assert!(sum.calls >= most && sum.tokens.input >= most && sum.unpriced_calls >= most, "{sum:?}");
    for _ in 0..2 {
        let session = store.open_session("worker", 1).await.unwrap();
        store.grant(&[lease(1, session, "run", 0..1, 1)], 1).await.unwrap();
        store.beat(session, Usd(i64::MAX)).await.unwrap();
        store.end_session(session, "lost", false, 2).await.unwrap();
    }
    assert_eq!(store.recover(&id("run")).await.unwrap().unsettled, Usd(i64::MAX));
}
