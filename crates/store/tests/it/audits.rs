//! What a check finds in the tables: the same on every engine that has some.

use record::{
    Role, Usd,
    decision::{Decided, Decision},
    summary::RunState,
};
use store::{Account, Moved, RunRow, Store};

use crate::{
    samples::{PLAN, batch, broken, id, lease, run, spend, token},
    stand::{OnDisk, OnServer, Stand, Tables},
};

macro_rules! on_every_engine_with_tables {
    ($($scenario:ident)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $scenario() { super::$scenario::<super::OnDisk>().await; })*
        }
        mod postgres {
            $(#[tokio::test] async fn $scenario() {
                if super::OnServer::server().is_some() {
                    super::$scenario::<super::OnServer>().await;
                }
            })*
        }
    };
}

on_every_engine_with_tables! {
    a_store_in_use_is_sound
    each_fault_is_named
    what_is_being_written_is_no_fault
}

/// Something of everything: a trial that was replaced, one that was lost, money, decisions, a run that is deleted and one that
/// is being swept. Session 1 is over, session 2 plays on.
async fn in_use<S: Stand>() -> S {
    let stand = S::new().await;
    let store = stand.store();
    let row = RunRow { max_cost: Some(Usd(1_000_000)), preflight: spend(Role::Judge, "j", 2), ..run("run") };
    store.create_run(&row, PLAN).await.unwrap();
    for name in ["other", "deleted", "swept"] {
        store.create_run(&run(name), PLAN).await.unwrap();
    }
    let first = store.open_session("worker", &token(), 1).await.unwrap();
    let leases = ["run", "deleted", "swept"].map(|name| lease(1, first, name, 0..3, 1));
    let leases: Vec<_> = leases.into_iter().zip(1..).map(|(lease, id)| store::Lease { id, ..lease }).collect();
    store.grant(&leases, 1).await.unwrap();
    let mut commit = batch(first, 1, "run", &[(0, 1), (1, 1)]);
    commit.ended[1].trial = broken(1, 1);
    assert_eq!(store.commit(&commit, 2).await.unwrap().again, [1]);
    for (sequence, name) in [(2, "deleted"), (3, "swept"), (4, "swept")] {
        let ended: Vec<(u64, u32)> =
            if sequence == 3 { Vec::new() } else { (0..3).map(|number| (number, 1)).collect() };
        store.commit(&batch(first, sequence, name, &ended), 2).await.unwrap();
    }
    let account = Account { returned: Usd(10), charged: Usd(5) };
    assert_eq!(store.fund(&id("run"), first, account, Usd(100)).await.unwrap().granted, Usd(100));
    for what in [Decided::Paused, Decided::Resumed] {
        let decision = Decision { at: 3, load_micros: None, by: None, what };
        store.decide(&id("run"), &decision, Moved::default()).await.unwrap();
    }
    store.end_session(first, "lost", false, &[], 5).await.unwrap();
    let second = store.open_session("worker", &token(), 6).await.unwrap();
    assert_eq!((first, second), (1, 2));
    let leases = [lease(1, second, "run", 1..9, 2), lease(2, second, "other", 0..9, 1)];
    store.grant(&leases, 6).await.unwrap();
    store.commit(&batch(second, 1, "run", &[(1, 2), (2, 2)]), 7).await.unwrap();
    store.commit(&batch(second, 2, "other", &[(0, 1)]), 7).await.unwrap();
    for name in ["deleted", "swept"] {
        store.set_state(&id(name), RunState::Finished, Some(8)).await.unwrap();
    }
    store.delete_run(&id("swept")).await.unwrap();
    assert!(store.sweep(1).await.unwrap(), "one segment of two is gone");
    store.delete_run(&id("deleted")).await.unwrap();
    stand
}

async fn a_store_in_use_is_sound<S: Tables>() {
    let stand = in_use::<S>().await;
    assert_eq!(stand.audit().await, []);
    let stand = stand.reopen().await;
    assert_eq!(stand.audit().await, []);
    while stand.store().sweep(1).await.unwrap() {
        assert_eq!(stand.audit().await, []);
    }
}

async fn each_fault_is_named<S: Tables>() {
    let stand = in_use::<S>().await;
    let plants = [
        (
            "insert into attempt (run, number, epoch, session, solo, lost_at, given_up, begun)
             select run, number, epoch, session, false, 1, false, true from trial
             where number = 0 and run = (select key from run where id = 'run')",
            "an attempt counts and was lost",
            "run: trial 0, attempt 1",
        ),
        (
            "insert into replaced (run, number, epoch, session, body)
             select run, number, epoch, session, body from trial
             where number = 1 and run = (select key from run where id = 'run')",
            "an attempt counts and was replaced",
            "run: trial 1, attempt 2",
        ),
        (
            "update trial set run = 77 where number = 2 and run = (select key from run where id = 'run')",
            "a trial belongs to no run",
            "trial 2 of run 77",
        ),
        (
            "insert into attempt (run, number, epoch, session, solo, lost_at, given_up, begun)
             values (78, 5, 1, 1, false, 1, false, true)",
            "an attempt belongs to no run",
            "trial 5 of run 78",
        ),
        (
            "insert into replaced (run, number, epoch, session, body) values (79, 6, 1, 1, '{}')",
            "an attempt belongs to no run",
            "trial 6 of run 79",
        ),
        (
            "update segment set run = 80 where session = 2 and sequence = 2",
            "a segment belongs to no run",
            "segment 2 of session 2",
        ),
        (
            "update trial set session = 99 where number = 0 and run = (select key from run where id = 'other')",
            "a trial names a session that there is not",
            "other: trial 0, session 99",
        ),
        (
            "update spend set run = 81 where run = (select key from run where id = 'other')",
            "spending belongs to no run",
            "agent a of run 81",
        ),
        (
            "insert into lease (session, id, first, past, run, epoch, granted_at, begun)
             select 1, 9, 0, 1, key, 9, 1, 0 from run where id = 'run'",
            "a session that ended holds a lease",
            "session 1, lease 9",
        ),
        (
            "update slice set returned_nanos = granted_nanos + 1 where session = 1",
            "a session returned more money than it got",
            "run: session 1",
        ),
        (
            "update spend set calls = calls + 1 where role = 'agent' and run = (select key from run where id = 'run')",
            "the spending of a run is not the sum of its segments",
            "run: agent: 3 calls and 100 nano-dollars, not 2 and 100",
        ),
    ];
    for (plant, ..) in plants {
        stand.change(plant).await;
    }
    stand.change(&S::lose_piece(2)).await;
    stand.change(S::STRAY_PIECE).await;
    let mut found = stand.audit().await;
    let stray = found.iter().position(|(what, _)| *what == "a piece belongs to no segment");
    // What there is to say about it depends on the engine.
    found.remove(stray.expect("the stray piece is found"));
    let mut expected: Vec<_> = plants.iter().map(|(_, what, place)| (*what, (*place).to_owned())).collect();
    expected.push(("a segment lacks pieces", "segment 1 of session 2".to_owned()));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

async fn what_is_being_written_is_no_fault<S: Tables>() {
    let stand = in_use::<S>().await;
    let store = stand.store();
    let write = async {
        for sequence in 3..60 {
            store.commit(&batch(2, sequence, "run", &[]), 8).await.unwrap();
            store.sweep(1).await.unwrap();
        }
    };
    let check = async {
        for _ in 0..8 {
            assert_eq!(stand.audit().await, []);
        }
    };
    tokio::join!(write, check);
}
