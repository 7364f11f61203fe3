//! Random histories, played on the model and on each engine: every answer has to be the same.

use proptest::prelude::*;
use record::{
    Failure, FailureKind, Role, Trial, Usd, Verdict,
    decision::{Decided, Decision},
    summary::RunState,
};
use scenario::Digest;
use store::{Account, Error, Lease, Moved, RunRow, Store};

use crate::{
    samples::{PLAN, batch, id, lease, piece, run, spend, token},
    stand::{InMemory, OnDisk, OnServer, Stand},
};

const RUNS: [&str; 3] = ["a", "b", "never created"];
const SESSIONS: u64 = 4;

#[derive(Debug, Clone)]
enum Step {
    Create {
        run: usize,
        other_plan: bool,
    },
    SetState {
        run: usize,
        state: RunState,
        ended_at: Option<i64>,
    },
    Open,
    Grant {
        leases: Vec<Leased>,
    },
    /// `ahead` of the watermark: 0 sends the last batch again, 1 the next, 2 leaves a gap.
    Commit {
        session: u64,
        ahead: u64,
        run: usize,
        ended: Vec<(u64, u32, How)>,
        calls: u64,
        model: &'static str,
        begun: Vec<Leased>,
    },
    Heartbeat {
        session: u64,
        nanos: i64,
        begun: Vec<Leased>,
    },
    Fund {
        session: u64,
        run: usize,
        sums: (i64, i64, i64),
    },
    Budget {
        run: usize,
        nanos: i64,
    },
    Release {
        session: u64,
        leases: Vec<Leased>,
        begun: bool,
    },
    Resume {
        run: usize,
        again: Vec<u64>,
        replays: u32,
    },
    End {
        session: u64,
        proof: bool,
        begun: Vec<Leased>,
    },
    Delete {
        run: usize,
    },
    Reopen,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy)]
enum How {
    Passed,
    BrokenByUs,
    Exhausted,
}

#[derive(Debug, Clone)]
struct Leased {
    id: u64,
    session: u64,
    run: usize,
    first: u64,
    length: u64,
    epoch: u32,
    /// So many of them have begun.
    begun: u64,
}

impl How {
    fn of(self, trial: Trial) -> Trial {
        let broken = |kind| Trial { verdict: Verdict::Error, failure: Some(Failure::new(kind, "")), ..trial.clone() };
        match self {
            Self::Passed => trial,
            Self::BrokenByUs => broken(FailureKind::SimulatorFailed),
            Self::Exhausted => Trial { exhausted: true, ..broken(FailureKind::ProviderExhausted) },
        }
    }
}

fn leased() -> impl Strategy<Value = Leased> {
    (1_u64..6, 1..=SESSIONS, run_index(), 0_u64..20, 0_u64..8, 1_u32..4, 0_u64..8).prop_map(
        |(id, session, run, first, length, epoch, begun)| Leased { id, session, run, first, length, epoch, begun },
    )
}

/// Mostly runs that exist.
fn run_index() -> impl Strategy<Value = usize> {
    prop_oneof![10 => Just(0_usize), 4 => Just(1_usize), 1 => Just(2_usize)]
}

fn state() -> impl Strategy<Value = RunState> {
    prop_oneof![
        4 => Just(RunState::Running),
        1 => Just(RunState::Interrupted),
        1 => Just(RunState::Finished),
        1 => Just(RunState::Cancelled),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let how = prop_oneof![4 => Just(How::Passed), 3 => Just(How::BrokenByUs), 1 => Just(How::Exhausted)];
    let ended = prop::collection::vec((0_u64..24, 1_u32..4, how), 0..12);
    let ahead = prop_oneof![1 => Just(0_u64), 12 => Just(1_u64), 1 => Just(2_u64)];
    let begun = || prop::collection::vec(leased(), 0..2);
    let commit = (1..=SESSIONS, ahead, run_index(), ended, 0_u64..5, prop_oneof![Just("a"), Just("b")], begun());
    prop_oneof![
        1 => (0_usize..2, any::<bool>()).prop_map(|(run, other_plan)| Step::Create { run, other_plan }),
        1 => (run_index(), state(), prop::option::of(0_i64..9))
            .prop_map(|(run, state, ended_at)| Step::SetState { run, state, ended_at }),
        3 => Just(Step::Open),
        8 => prop::collection::vec(leased(), 0..4).prop_map(|leases| Step::Grant { leases }),
        14 => commit.prop_map(|(session, ahead, run, ended, calls, model, begun)| {
            Step::Commit { session, ahead, run, ended, calls, model, begun }
        }),
        2 => (1..=SESSIONS, 0_i64..1_000, begun())
            .prop_map(|(session, nanos, begun)| Step::Heartbeat { session, nanos, begun }),
        4 => (1..=SESSIONS, run_index(), (0_i64..60, 0_i64..60, 0_i64..200))
            .prop_map(|(session, run, sums)| Step::Fund { session, run, sums }),
        1 => (run_index(), 0_i64..400).prop_map(|(run, nanos)| Step::Budget { run, nanos }),
        3 => (1..=SESSIONS, prop::collection::vec(leased(), 0..3), any::<bool>())
            .prop_map(|(session, leases, begun)| Step::Release { session, leases, begun }),
        1 => (run_index(), prop::collection::vec(0_u64..24, 0..6), 0_u32..3)
            .prop_map(|(run, again, replays)| Step::Resume { run, again, replays }),
        2 => (1..=SESSIONS, any::<bool>(), begun())
            .prop_map(|(session, proof, begun)| Step::End { session, proof, begun }),
        1 => run_index().prop_map(|run| Step::Delete { run }),
        1 => Just(Step::Reopen),
    ]
}

/// A store's answer as text; the reason of a failure may differ.
fn answer<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::Failed(_)) => "failed".to_owned(),
        other => format!("{other:?}"),
    }
}

async fn play<S: Store>(store: &S, step: &Step, at: i64) -> String {
    let leases = |leases: &[Leased]| {
        let leases = leases.iter().map(|lent| {
            let begun = lent.first + lent.begun.min(lent.length);
            let trials = lent.first..lent.first + lent.length;
            Lease { begun, ..lease(lent.id, lent.session, RUNS[lent.run], trials, lent.epoch) }
        });
        leases.collect::<Vec<_>>()
    };
    match step {
        Step::Create { run: which, other_plan } => {
            let plan: &[u8] = if *other_plan { b"another plan" } else { PLAN };
            let row = RunRow { plan_digest: Digest::of(plan), started_at: at % 3, ..run(RUNS[*which]) };
            answer(store.create_run(&row, plan).await)
        }
        Step::SetState { run, state, ended_at } => answer(store.set_state(&id(RUNS[*run]), *state, *ended_at).await),
        Step::Open => answer(store.open_session("worker", &token(), at).await),
        Step::Grant { leases: lent } => answer(store.grant(&leases(lent), at).await),
        Step::Commit { session, ahead, run, ended, calls, model, begun } => {
            let watermark = store.watermark(*session).await.unwrap().unwrap_or_default();
            let numbers: Vec<(u64, u32)> = ended.iter().map(|(number, epoch, _)| (*number, *epoch)).collect();
            let mut commit = batch(*session, watermark + ahead, RUNS[*run], &numbers);
            for (ended, (.., how)) in commit.ended.iter_mut().zip(ended) {
                ended.trial = how.of(ended.trial.clone());
            }
            commit.begun = leases(begun);
            let nanos = |factor| Usd(i64::try_from(calls * factor).unwrap());
            commit.account = (*calls > 1).then(|| Account { returned: nanos(7), charged: nanos(11) });
            commit.segment.spend = if *calls == 0 { Default::default() } else { spend(Role::Judge, model, *calls) };
            answer(store.commit(&commit, at).await)
        }
        Step::Heartbeat { session, nanos, begun } => {
            answer(store.heartbeat(*session, Usd(*nanos), &leases(begun), at).await)
        }
        Step::Fund { session, run, sums: (returned, charged, granted) } => {
            let account = Account { returned: Usd(*returned), charged: Usd(*charged) };
            answer(store.fund(&id(RUNS[*run]), *session, account, Usd(*granted)).await)
        }
        Step::Budget { run, nanos } => {
            let max_cost = Usd(*nanos);
            let decision = Decision { at, load_micros: None, by: None, what: Decided::Budget { max_cost_usd: 1.0 } };
            let moved = Moved { max_cost: Some(max_cost), ..Moved::default() };
            answer(store.decide(&id(RUNS[*run]), &decision, moved).await)
        }
        Step::Release { session, leases: lent, begun } => {
            answer(store.release(*session, &leases(lent), *begun, at).await)
        }
        Step::Resume { run, again, replays } => answer(store.resume(&id(RUNS[*run]), again, *replays).await),
        Step::End { session, proof, begun } => {
            answer(store.end_session(*session, "lost", *proof, &leases(begun), at).await)
        }
        Step::Delete { run } => {
            let deleted = answer(store.delete_run(&id(RUNS[*run])).await);
            while store.sweep(3).await.unwrap() {}
            deleted
        }
        Step::Reopen => String::new(),
    }
}

/// All that can be asked.
async fn view<S: Store>(store: &S) -> Vec<String> {
    let mut view = vec![answer(store.runs().await)];
    for plan in [PLAN, b"another plan"] {
        view.push(answer(store.plan(&Digest::of(plan)).await));
    }
    for name in RUNS {
        let run = id(name);
        view.push(answer(store.run(&run).await));
        view.push(answer(store.recover(&run).await));
        view.push(answer(store.trials(&run, 0, u32::MAX).await));
        view.push(answer(store.trials(&run, 5, 3).await));
        view.push(answer(store.attempts(&run, None, u32::MAX).await));
        view.push(answer(store.attempts(&run, Some((5, 1)), 3).await));
        view.push(answer(store.spend(&run).await));
        for session in 0..=SESSIONS {
            let asked: Vec<_> = (0..9).map(|sequence| (session, piece(sequence, (sequence % 4) as u32))).collect();
            view.push(answer(store.pieces(&run, &asked).await));
        }
    }
    for session in 0..=SESSIONS + 1 {
        view.push(answer(store.watermark(session).await));
        view.push(answer(store.token(session).await));
    }
    view
}

async fn compare<E: Stand>(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut model, mut engine) = (InMemory::new().await, E::new().await);
    // Most histories are about a run that exists and a worker that came.
    let beginning = [Step::Create { run: 0, other_plan: false }, Step::Open];
    for (at, step) in (0..).zip(beginning.iter().chain(&steps)) {
        if matches!(step, Step::Reopen) {
            (model, engine) = (model.reopen().await, engine.reopen().await);
            prop_assert_eq!(view(model.store()).await, view(engine.store()).await, "after reopening at {}", at);
        }
        let (expected, found) = (play(model.store(), step, at).await, play(engine.store(), step, at).await);
        prop_assert_eq!(expected, found, "step {} {:?}", at, step);
    }
    prop_assert_eq!(view(model.store()).await, view(engine.store()).await, "in the end");
    Ok(())
}

/// The second lease has an epoch of its own, so a trial that ended in the first one is not done in the second.
#[tokio::test]
async fn overlapping_leases_lose_trials_by_their_epochs() {
    let lent = |first, length, epoch| Leased { id: 2, session: 1, run: 0, first, length, epoch, begun: 0 };
    let steps = vec![
        Step::Grant { leases: vec![lent(12, 6, 1)] },
        Step::Grant { leases: vec![lent(6, 7, 2)] },
        Step::Commit {
            session: 1,
            ahead: 1,
            run: 0,
            ended: vec![(12, 1, How::BrokenByUs)],
            calls: 0,
            model: "a",
            begun: Vec::new(),
        },
        Step::End { session: 1, proof: false, begun: Vec::new() },
    ];
    compare::<OnDisk>(steps.clone()).await.unwrap();
    if OnServer::server().is_some() {
        compare::<OnServer>(steps).await.unwrap();
    }
}

/// Of two leases of a trial in one epoch, the first says whether it had begun.
#[tokio::test]
async fn overlapping_leases_lose_a_trial_once() {
    let lent = |first, length, begun| Leased { id: 1, session: 1, run: 0, first, length, epoch: 1, begun };
    let steps = vec![
        Step::Grant { leases: vec![lent(0, 4, 0), lent(1, 1, 1)] },
        Step::End { session: 1, proof: false, begun: Vec::new() },
    ];
    compare::<OnDisk>(steps.clone()).await.unwrap();
    if OnServer::server().is_some() {
        compare::<OnServer>(steps).await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_answers_as_the_model_does(steps in prop::collection::vec(step(), 30..50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(compare::<OnDisk>(steps))?;
    }

    #[test]
    fn postgres_answers_as_the_model_does(steps in prop::collection::vec(step(), 30..50)) {
        if OnServer::server().is_some() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(compare::<OnServer>(steps))?;
        }
    }
}
