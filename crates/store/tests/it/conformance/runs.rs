//! Runs: created, listed, changed, unknown.

use record::{
    Role, Usd,
    call::{Spend, SpendLine},
    decision::{Decided, Decision},
    runner::{Runner, Sample},
    summary::RunState,
};
use scenario::{Digest, load::StepVerdict};
use store::{Error, Moved, RunRow, Store};

use super::ready;
use crate::{
    samples::{PLAN, batch, id, lease, piece, run},
    stand::Stand,
};

pub(super) async fn a_run_is_created_once<S: Stand>() {
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

pub(super) async fn a_preflight_begins_the_spend<S: Stand>() {
    let stand = S::new().await;
    let store = stand.store();
    let mut preflight = Spend::default();
    let line = SpendLine { calls: 2, cost: Usd(5), unpriced_calls: 1, ..SpendLine::default() };
    preflight.add_line(Role::Agent, "m", line);
    let row = RunRow { preflight: preflight.clone(), ..run("run") };
    for _ in 0..2 {
        store.create_run(&row, PLAN).await.unwrap();
        assert_eq!(store.run(&id("run")).await.unwrap(), Some(row.clone()));
        assert_eq!(store.spend(&id("run")).await.unwrap(), preflight, "once, however often it is submitted");
    }
    store.create_run(&run("without"), PLAN).await.unwrap();
    assert_eq!(store.spend(&id("without")).await.unwrap(), Spend::default());
}

pub(super) async fn runs_are_listed_newest_first<S: Stand>() {
    let stand = S::new().await;
    for (name, started_at) in [("b", 20), ("a", 20), ("old", 10), ("new", 30)] {
        stand.store().create_run(&RunRow { started_at, ..run(name) }, PLAN).await.unwrap();
    }
    let names: Vec<_> = stand.store().runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(names, [id("new"), id("b"), id("a"), id("old")]);
}

pub(super) async fn a_run_changes_its_state<S: Stand>() {
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

pub(super) async fn a_load_begins_and_goes_on_later<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let store = stand.store();
    assert_eq!(store.recover(&id("run")).await.unwrap().load_began_at, None);
    for at in [1_700_000_000_123, 1_700_000_009_000] {
        store.set_load_began(&id("run"), at).await.unwrap();
        assert_eq!(store.recover(&id("run")).await.unwrap().load_began_at, Some(at));
    }
    assert_eq!(store.recover(&id("run")).await.unwrap().runner, Runner::default());
    let mut runner = Runner::default();
    runner.add(Sample { delay_micros: 51_000, cpu_permille: 17, memory_bytes: 4_096, descriptors: 3 }, 9_000, 8_192);
    store.set_runner(&id("run"), &runner).await.unwrap();
    assert_eq!(store.recover(&id("run")).await.unwrap().runner, runner);
}

pub(super) async fn decisions_are_appended_in_order<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let store = stand.store();
    store.set_load_began(&id("run"), 100).await.unwrap();
    let stopped = Decided::Stopped { reason: "too slow".to_owned(), objective: Some("max(ttft) < 1s".to_owned()) };
    let faster = Decided::Rate { group: None, rate: 2.5, from_micros: 7 };
    let planned = run("run").planned;
    let moved = |load_began_at, planned| Moved { load_began_at, planned, max_cost: None };
    let decided = |at, what| Decision { at, load_micros: Some(5), by: Some("ada".to_owned()), what };
    let made = [
        (decided(30, Decided::Paused), Moved::default(), (100, planned)),
        (decided(20, Decided::Resumed), moved(Some(150), None), (150, planned)),
        (decided(40, faster), moved(None, Some(77)), (150, 77)),
        (decided(50, stopped), Moved::default(), (150, 77)),
    ];
    for (index, (decision, moved, (began, planned))) in made.iter().enumerate() {
        store.decide(&id("run"), decision, *moved).await.unwrap();
        let found = store.recover(&id("run")).await.unwrap();
        let expected: Vec<Decision> = made[..=index].iter().map(|(decision, ..)| decision.clone()).collect();
        assert_eq!((found.decisions, found.load_began_at), (expected, Some(*began)));
        assert_eq!(store.run(&id("run")).await.unwrap().unwrap().planned, *planned);
    }
    store.create_run(&run("other"), PLAN).await.unwrap();
    assert_eq!(store.recover(&id("other")).await.unwrap().decisions, []);
}

/// Whatever its words.
pub(super) async fn every_kind_of_decision_comes_back_after_a_restart<S: Stand>() {
    let (stand, _) = ready::<S>().await;
    let words = || "« l'ordre » 🙂 \"\\\n\u{0}".to_owned();
    let made: Vec<Decision> = [
        Decided::Paused,
        Decided::Resumed,
        Decided::Restarted,
        Decided::Stopped { reason: words(), objective: Some(words()) },
        Decided::OutOfMoney { reason: words() },
        Decided::Waits { endpoint: words(), reason: words() },
        Decided::Budget { max_cost_usd: 0.1 + 0.2 },
        Decided::Concluded { reason: words() },
        Decided::Slots { group: Some(words()), slots: u32::MAX, from_micros: 1 << 53 },
        Decided::Rate { group: None, rate: 1.0 / 3.0, from_micros: 0 },
        Decided::SearchStep { rate: f64::MIN_POSITIVE, from_micros: 7 },
        Decided::SearchFound { rate: 1e300, verdict: StepVerdict::Held, reason: words() },
        Decided::SearchEnded { reason: words(), from_micros: 9 },
    ]
    .into_iter()
    .zip(0_i64..)
    .map(|(what, number)| Decision {
        at: i64::MAX - number,
        load_micros: (number % 2 == 0).then_some(1 << 53),
        by: None,
        what,
    })
    .collect();
    for decision in &made {
        stand.store().decide(&id("run"), decision, Moved::default()).await.unwrap();
    }
    let stand = stand.reopen().await;
    assert_eq!(stand.store().recover(&id("run")).await.unwrap().decisions, made);
}

pub(super) async fn what_is_unknown_is_said<S: Stand>() {
    let (stand, session) = ready::<S>().await;
    let (store, ghost) = (stand.store(), id("ghost"));
    assert_eq!(store.run(&ghost).await.unwrap(), None);
    assert_eq!(store.plan(&Digest::of(b"ghost")).await.unwrap(), None);
    let refusals = [
        store.set_state(&ghost, RunState::Finished, None).await.unwrap_err(),
        store.set_load_began(&ghost, 1).await.unwrap_err(),
        store.set_runner(&ghost, &Runner::default()).await.unwrap_err(),
        store
            .decide(&ghost, &Decision { at: 1, load_micros: None, by: None, what: Decided::Paused }, Moved::default())
            .await
            .unwrap_err(),
        store.grant(&[lease(1, session, "ghost", 0..1, 1)], 1).await.unwrap_err(),
        store.commit(&batch(session, 1, "ghost", &[]), 1).await.unwrap_err(),
        store.recover(&ghost).await.unwrap_err(),
        store.trials(&ghost, 0, 1).await.unwrap_err(),
        store.pieces(&ghost, &[]).await.unwrap_err(),
        store.spend(&ghost).await.unwrap_err(),
    ];
    for (row, refusal) in refusals.into_iter().enumerate() {
        assert!(matches!(&refusal, Error::UnknownRun(run) if *run == ghost), "row {row}: {refusal}");
    }
    for nobody in [0, 99, u64::MAX] {
        assert_eq!(store.watermark(nobody).await.unwrap(), None);
        assert!(
            matches!(store.heartbeat(nobody, Usd(1), &[], 2).await, Err(Error::SessionOver(session)) if session == nobody)
        );
        assert_eq!(store.end_session(nobody, "gone", false, &[], 1).await.unwrap(), []);
        assert_eq!(store.pieces(&id("run"), &[(nobody, piece(1, 0))]).await.unwrap(), [""]);
        assert!(store.commit(&batch(nobody, 1, "run", &[]), 1).await.unwrap().session_over);
        store.release(nobody, &[lease(1, nobody, "run", 0..1, 1)], false, 3).await.unwrap();
    }
    assert_eq!(store.watermark(session).await.unwrap(), Some(0), "the refused batch took no place");
}
