//! Reading back: pages, segments, sums, and all of it after a restart.

use bytes::Bytes;
use record::{
    Role, Tokens, Usd,
    call::{Spend, SpendLine},
};
use store::{Losses, Part, Piece, Recovered, Store};

use super::{counted, ready};
use crate::{
    samples::{PLAN, batch, id, lease, piece, pieces, run, spend, token},
    stand::Stand,
};

pub(super) async fn all_comes_back_after_a_restart<S: Stand>() {
    let (stand, lost) = ready::<S>().await;
    let store = stand.store();
    let live = store.open_session("worker", &token(), 1).await.unwrap();
    let granted = [lease(1, lost, "run", 0..3, 1), lease(2, live, "run", 3..6, 1)];
    store.grant(&granted, 1).await.unwrap();
    store.commit(&batch(lost, 1, "run", &[(1, 1)]), 2).await.unwrap();
    store.commit(&batch(live, 1, "run", &[(3, 1)]), 2).await.unwrap();
    store.heartbeat(lost, Usd(30), &[], 2).await.unwrap();
    store.end_session(lost, "lost", true, &[], 3).await.unwrap();
    let expected = Recovered {
        done: vec![1..2, 3..4],
        attempts: vec![(0, 1), (2, 1)],
        losses: [0, 2].map(|number| Losses { number, begun: 1, all: 1, proof: 1, session: lost }).to_vec(),
        seen: vec![(live, 2)],
        leases: vec![lease(2, live, "run", 3..6, 1)],
        lost_attempts: 2,
        unsettled: Usd(30),
        ..Recovered::default()
    };
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);

    let stand = stand.reopen().await;
    let store = stand.store();
    assert_eq!(store.recover(&id("run")).await.unwrap(), expected);
    assert_eq!(store.run(&id("run")).await.unwrap(), Some(run("run")));
    assert_eq!(store.watermark(lost).await.unwrap(), None);
    assert_eq!(store.watermark(live).await.unwrap(), Some(1));
    // The live session continues where it was, and no id is used twice.
    assert!(store.commit(&batch(live, 1, "run", &[(4, 1)]), 4).await.unwrap().duplicate);
    assert_eq!(store.commit(&batch(live, 2, "run", &[(4, 1)]), 4).await.unwrap(), counted(&[4]));
    assert!(store.open_session("worker", &token(), 5).await.unwrap() > live);
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

pub(super) async fn pieces_come_one_by_one<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.create_run(&run("other"), PLAN).await.unwrap();
    for sequence in 1..=5 {
        let name = if sequence == 3 { "other" } else { "run" };
        store.commit(&batch(session, sequence, name, &[]), 1).await.unwrap();
    }
    let mut wordless = batch(session, 6, "run", &[]);
    wordless.segment.pieces.clear();
    store.commit(&wordless, 1).await.unwrap();
    let stand = stand.reopen().await;
    let store = stand.store();

    let whole = |sequence| Piece { sequence, part: Part::Whole };
    let asked = [
        ((session, piece(5, 2)), pieces(session, 5).remove(2)),
        ((session, piece(1, 0)), pieces(session, 1).remove(0)),
        ((session, piece(5, 2)), pieces(session, 5).remove(2)),
        ((session, piece(5, 1)), Bytes::new()),
        ((session, whole(5)), pieces(session, 5).concat().into()),
        ((session, whole(2)), pieces(session, 2).concat().into()),
        // None of these exists.
        ((session, piece(1, 2)), Bytes::new()),
        ((session, piece(1, u32::MAX)), Bytes::new()),
        ((session, piece(3, 0)), Bytes::new()),
        ((session, whole(3)), Bytes::new()),
        ((session, whole(6)), Bytes::new()),
        ((session, piece(6, 0)), Bytes::new()),
        ((session, piece(7, 0)), Bytes::new()),
        ((session, piece(0, 0)), Bytes::new()),
        ((session + 1, piece(1, 0)), Bytes::new()),
        ((u64::MAX, piece(u64::MAX, 0)), Bytes::new()),
    ];
    let (asked, expected): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    assert_eq!(store.pieces(&id("run"), &asked).await.unwrap(), expected);
    assert_eq!(store.pieces(&id("other"), &[(session, piece(3, 0))]).await.unwrap(), [pieces(session, 3).remove(0)]);
    assert_eq!(store.pieces(&id("run"), &[]).await.unwrap().len(), 0);
}

/// A trial with a piece in each of two batches, among others that are kept.
pub(super) async fn words_that_are_not_kept_leave_nothing_behind<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let store = stand.store();
    store.grant(&[lease(1, session, "run", 0..3, 1)], 1).await.unwrap();
    for sequence in 1..=4 {
        store.commit(&batch(session, sequence, "run", &[]), 1).await.unwrap();
    }
    let mut last = batch(session, 5, "run", &[(0, 1), (1, 1)]);
    (last.ended[0].kept, last.ended[0].pieces) = (false, vec![piece(2, 0), piece(5, 0)]);
    last.ended[1].pieces = vec![piece(5, 2)];
    assert_eq!(store.commit(&last, 2).await.unwrap().counted, [0, 1]);
    // Nothing of a batch is kept.
    let mut nothing = batch(session, 6, "run", &[(2, 1)]);
    (nothing.ended[0].kept, nothing.ended[0].pieces) = (false, vec![piece(6, 0)]);
    assert_eq!(store.commit(&nothing, 3).await.unwrap().counted, [2]);
    store.commit(&batch(session, 7, "run", &[]), 4).await.unwrap();
    let stand = stand.reopen().await;
    let store = stand.store();
    let trials = store.trials(&id("run"), 0, 9).await.unwrap();
    assert_eq!((trials[0].pieces.len(), trials[1].pieces.as_slice()), (0, [piece(5, 2)].as_slice()));
    let asked = [piece(2, 0), piece(5, 0), piece(5, 2), piece(1, 0), piece(6, 0), piece(7, 0)];
    let asked = asked.map(|piece| (session, piece));
    let found = store.pieces(&id("run"), &asked).await.unwrap();
    let whole = |sequence, place| pieces(session, sequence).remove(place);
    assert_eq!(found, [Bytes::new(), Bytes::new(), whole(5, 2), whole(1, 0), Bytes::new(), whole(7, 0)]);
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
        let tokens = Tokens { input: most, output: sequence, cached_input: most, cache_write: most, reasoning: most };
        let line = SpendLine {
            calls: most,
            tokens,
            cost: Usd(i64::MAX),
            unpriced_calls: most,
            estimated_calls: most,
            tries: most,
            throttled_tries: most,
            wait_micros: most,
            plain_priced_calls: most,
            cut_calls: most,
            reported_cost: Usd(i64::MAX),
        };
        commit.segment.spend = Spend::default();
        commit.segment.spend.add_line(Role::Judge, "m", line);
        store.commit(&commit, 1).await.unwrap();
    }
    let sum = store.spend(&id("run")).await.unwrap().of(Role::Judge);
    assert_eq!((sum.cost, sum.tokens.output), (Usd(i64::MAX), 6));
    assert!(sum.estimated_calls >= most && sum.tries >= most && sum.throttled_tries >= most && sum.wait_micros >= most);
    let of_cache = sum.tokens.cached_input.min(sum.tokens.cache_write).min(sum.tokens.reasoning);
    assert!(of_cache >= most && sum.plain_priced_calls >= most && sum.cut_calls >= most, "{sum:?}");
    assert_eq!(sum.reported_cost, Usd(i64::MAX));
    assert!(sum.calls >= most && sum.tokens.input >= most && sum.unpriced_calls >= most, "{sum:?}");
    for _ in 0..2 {
        let session = store.open_session("worker", &token(), 1).await.unwrap();
        store.grant(&[lease(1, session, "run", 0..1, 1)], 1).await.unwrap();
        store.heartbeat(session, Usd(i64::MAX), &[], 2).await.unwrap();
        store.end_session(session, "lost", false, &[], 2).await.unwrap();
    }
    assert_eq!(store.recover(&id("run")).await.unwrap().unsettled, Usd(i64::MAX));
}
