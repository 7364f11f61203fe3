//! Metrics of a worker: finished calls, turns and trials, and its load.
//!
//! Every attempt counts, even if it is lost later: a worker cannot know which attempt counts.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};
use record::{Call, Role, Trial, Turn, Verdict, turn::Origin};

use self::{calls::Calls, places::Places};
use super::{
    catalogue::{self, CHECK, FINDING, PERSONA, SCENARIO, STATE, SUITE, VERDICT},
    instruments::{counter, gauge, histogram, money, seconds},
    labels::Values,
};
use crate::{asked::Endpoint, names::Conventions};

mod calls;
mod places;

/// The worker's handle. It is off unless metrics are enabled.
#[derive(Debug, Clone, Default)]
pub struct Worker(Option<Arc<Inner>>);

/// The labels of trials: suite, scenario and persona.
#[derive(Debug, Clone, Default)]
pub struct TrialSeries(Option<Arc<Series>>);

struct Inner {
    calls: Calls,
    turns: Counter<u64>,
    turn_duration: Histogram<f64>,
    first_token: Histogram<f64>,
    conversations: Counter<u64>,
    trials_played: Counter<u64>,
    checks: Counter<u64>,
    check_names: Values,
    conversation_duration: Histogram<f64>,
    conversation_cost: Counter<f64>,
    places: Places,
    now: Arc<Now>,
}

/// The values to read on each scrape.
#[derive(Debug, Default)]
struct Now {
    slots: AtomicU32,
    busy: AtomicU32,
    unacknowledged: AtomicU64,
    connected: AtomicBool,
}

/// The labels of a place, computed once for all turns of a trial.
struct Series {
    worker: Arc<Inner>,
    place: [KeyValue; 3],
}

impl Worker {
    pub(super) fn new(meter: &Meter, conventions: Conventions) -> Self {
        let now = Arc::new(Now::default());
        let read = Arc::clone(&now);
        gauge(meter, &catalogue::SLOTS_HERE, move |to| {
            let (slots, busy) = (read.slots.load(Ordering::Relaxed), read.busy.load(Ordering::Relaxed));
            to.observe(f64::from(busy), &[KeyValue::new(STATE, "busy")]);
            to.observe(f64::from(slots.saturating_sub(busy)), &[KeyValue::new(STATE, "free")]);
        });
        let read = Arc::clone(&now);
        gauge(meter, &catalogue::UNACKNOWLEDGED, move |to| {
            to.observe(read.unacknowledged.load(Ordering::Relaxed) as f64, &[]);
        });
        Self(Some(Arc::new(Inner {
            calls: Calls::new(meter, conventions),
            turns: counter(meter, &catalogue::TURNS),
            turn_duration: histogram(meter, &catalogue::TURN_DURATION),
            first_token: histogram(meter, &catalogue::TURN_FIRST_TOKEN),
            conversations: counter(meter, &catalogue::CONVERSATIONS),
            trials_played: counter(meter, &catalogue::TRIALS_PLAYED),
            checks: counter(meter, &catalogue::CHECKS),
            check_names: Values::new(CHECK),
            conversation_duration: histogram(meter, &catalogue::CONVERSATION_DURATION),
            conversation_cost: money(meter, &catalogue::CONVERSATION_COST),
            places: Places::new(),
            now,
        })))
    }

    /// Sets the addresses of endpoints and agents, so that calls have the same labels as their spans.
    #[must_use]
    pub fn with_endpoints(self, endpoints: BTreeMap<String, Endpoint>) -> Self {
        if let Some(worker) = &self.0 {
            worker.calls.are_at(endpoints);
        }
        self
    }

    /// Where the turns of one trial are counted.
    #[must_use]
    pub fn place(&self, suite: &str, scenario: &str, persona: Option<&str>) -> TrialSeries {
        let Some(worker) = &self.0 else { return TrialSeries(None) };
        let [suite, scenario, persona] = worker.places.get(suite, scenario, persona.unwrap_or_default());
        let place = [KeyValue::new(SUITE, suite), KeyValue::new(SCENARIO, scenario), KeyValue::new(PERSONA, persona)];
        let series = Series { worker: Arc::clone(worker), place };
        series.begin();
        TrialSeries(Some(Arc::new(series)))
    }

    /// Sets the number of busy slots and of all slots.
    pub fn slots(&self, busy: u32, slots: u32) {
        if let Some(worker) = &self.0 {
            worker.now.slots.store(slots, Ordering::Relaxed);
            worker.now.busy.store(busy, Ordering::Relaxed);
        }
    }

    /// Sets the number of unacknowledged trials.
    pub fn unacknowledged(&self, trials: usize) {
        if let Some(worker) = &self.0 {
            worker.now.unacknowledged.store(trials as u64, Ordering::Relaxed);
        }
    }

    /// Sets whether the worker has an open stream to a coordinator.
    pub fn connected(&self, connected: bool) {
        if let Some(worker) = &self.0 {
            worker.now.connected.store(connected, Ordering::Relaxed);
        }
    }

    /// As last told to [`Worker::connected`]; false where it is off.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.0.as_ref().is_some_and(|worker| worker.now.connected.load(Ordering::Relaxed))
    }
}

impl Series {
    /// The counters of the place are there from its first trial on: whoever reads them now and then would miss what a
    /// counter had counted when it was first seen.
    fn begin(&self) {
        let Self { worker, place } = self;
        let [suite, scenario, persona] = place;
        worker.turns.add(0, place);
        for verdict in [Verdict::Pass, Verdict::Fail] {
            let verdict = KeyValue::new(VERDICT, verdict.name());
            let all = [suite.clone(), scenario.clone(), persona.clone(), verdict.clone()];
            worker.conversations.add(0, &all);
            worker.trials_played.add(0, &all);
            worker.conversation_cost.add(0.0, &[suite.clone(), scenario.clone(), verdict]);
        }
    }
}

impl TrialSeries {
    /// Records a finished turn with its calls.
    pub fn turn(&self, turn: &Turn) {
        let Some(Series { worker, place }) = self.0.as_deref() else { return };
        worker.turns.add(1, place);
        turn.calls.iter().for_each(|call| worker.calls.ended(call));
        if is_answered(turn) {
            worker.turn_duration.record(seconds(turn.duration_micros), place);
            if let Some(first) = turn.first_token_micros() {
                worker.first_token.record(seconds(first), place);
            }
        }
    }

    /// Records a finished call without a turn.
    pub fn call(&self, call: &Call) {
        if let Some(Series { worker, .. }) = self.0.as_deref() {
            worker.calls.ended(call);
        }
    }

    /// Records a finished trial.
    pub fn ended(&self, trial: &Trial) {
        let Some(Series { worker, place }) = self.0.as_deref() else { return };
        let [suite, scenario, persona] = place;
        let verdict = KeyValue::new(VERDICT, trial.verdict.name());
        let all = [suite.clone(), scenario.clone(), persona.clone(), verdict.clone()];
        worker.conversations.add(u64::from(trial.conversations), &all);
        worker.trials_played.add(1, &all);
        for judgment in &trial.judgments {
            if let Some(name) = &judgment.name {
                let finding = KeyValue::new(FINDING, judgment.finding.name());
                worker.checks.add(1, &[KeyValue::new(CHECK, worker.check_names.get(name)), finding]);
            }
        }
        worker.conversation_duration.record(trial.duration_ms as f64 / 1e3, &[suite.clone(), scenario.clone()]);
        worker.conversation_cost.add(trial.spend.cost().dollars(), &[suite.clone(), scenario.clone(), verdict]);
    }
}

/// The agent answered a call: a program and a turn of a saved conversation have none.
fn is_answered(turn: &Turn) -> bool {
    let answered = |call: &Call| call.role == Role::Agent && call.error.is_none();
    turn.agent.is_some() && turn.speaker != Origin::Program && turn.calls.iter().any(answered)
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("now", &self.now).finish_non_exhaustive()
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.place).finish()
    }
}
