//! What a coordinator observes: the fleet, the queue, the store, and the figures of runs that ended.
//!
//! Verdicts are those of committed trials, one for each trial. The figures of an ended run are those of its report.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};
use record::{
    Blame, Summary, Trial, Verdict,
    summary::{RunState, RunVerdict},
};

use self::ended::Ended;
use super::{
    catalogue::{self, BLAME, SCENARIO, STATE, STATUS, SUITE, VERDICT},
    instruments::{counter, gauge, histogram},
    labels::Values,
};

mod ended;

const STATUSES: [&str; 3] = ["success", "failure", "aborted"];
const BLAMES: [Blame; 6] = [Blame::Agent, Blame::UserSim, Blame::Judge, Blame::Infra, Blame::Config, Blame::Budget];

/// What a coordinator observes with; off unless somebody wants to see it.
#[derive(Debug, Clone, Default)]
pub struct Coordinator(Option<Arc<Inner>>);

/// The connected workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fleet {
    pub workers: u64,
    pub busy_slots: u64,
    pub free_slots: u64,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Unix milliseconds: of two runs of a suite the later one is shown.
    pub started_at: i64,
    pub running: bool,
    pub planned: u64,
    pub lent: u64,
    pub done: u64,
}

struct Inner {
    granted: Counter<u64>,
    lost: Counter<u64>,
    commits: Histogram<f64>,
    verdicts: Counter<u64>,
    errors: Counter<u64>,
    runs: Counter<u64>,
    suites: Values,
    scenarios: Values,
    now: Arc<Mutex<Now>>,
}

/// What is read when somebody looks.
#[derive(Default)]
struct Now {
    fleet: Fleet,
    queues: BTreeMap<Arc<str>, Queue>,
    ended: BTreeMap<Arc<str>, Ended>,
}

impl Coordinator {
    pub(super) fn new(meter: &Meter) -> Self {
        let now: Arc<Mutex<Now>> = Arc::default();
        show_fleet(meter, &now);
        show_queues(meter, &now);
        ended::show(meter, &now);
        let inner = Inner {
            granted: counter(meter, &catalogue::LEASES_GRANTED),
            lost: counter(meter, &catalogue::LEASES_LOST),
            commits: histogram(meter, &catalogue::COMMIT_DURATION),
            verdicts: counter(meter, &catalogue::VERDICTS),
            errors: counter(meter, &catalogue::ERRORS),
            runs: counter(meter, &catalogue::RUNS),
            suites: Values::new(SUITE),
            scenarios: Values::new(SCENARIO),
            now,
        };
        // A counter that begins with its first event hides it: Prometheus sees no increase.
        inner.granted.add(0, &[]);
        inner.lost.add(0, &[]);
        Self(Some(Arc::new(inner)))
    }

    /// Whether anybody looks: what is costly to find out need not be found out otherwise.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A run of the suite is known: its counters begin.
    pub fn suite<'a>(&self, suite: &str, scenarios: impl IntoIterator<Item = &'a str>) {
        let Some(inner) = &self.0 else { return };
        let suite = inner.suite(suite);
        for status in STATUSES {
            inner.runs.add(0, &[suite.clone(), KeyValue::new(STATUS, status)]);
        }
        for blame in BLAMES {
            inner.errors.add(0, &[suite.clone(), KeyValue::new(BLAME, blame.name())]);
        }
        for scenario in scenarios {
            let scenario = inner.scenario(scenario);
            for verdict in [Verdict::Pass, Verdict::Fail] {
                inner.verdicts.add(0, &[suite.clone(), scenario.clone(), KeyValue::new(VERDICT, verdict.name())]);
            }
        }
    }

    pub fn fleet(&self, fleet: Fleet) {
        if let Some(inner) = &self.0 {
            inner.now().fleet = fleet;
        }
    }

    pub fn queue(&self, suite: &str, queue: Queue) {
        let Some(inner) = &self.0 else { return };
        let suite = inner.suites.get(suite);
        let mut now = inner.now();
        let newer = now.queues.get(&suite).is_some_and(|shown| shown.running && shown.started_at > queue.started_at);
        if !newer {
            now.queues.insert(suite, queue);
        }
    }

    /// So many trials were lent.
    pub fn granted(&self, trials: u64) {
        if let Some(inner) = &self.0 {
            inner.granted.add(trials, &[]);
        }
    }

    /// So many lent trials were lost with their worker.
    pub fn lost(&self, trials: u64) {
        if let Some(inner) = &self.0 {
            inner.lost.add(trials, &[]);
        }
    }

    /// The store took so long for a batch.
    pub fn committed(&self, took: Duration) {
        if let Some(inner) = &self.0 {
            inner.commits.record(took.as_secs_f64(), &[]);
        }
    }

    /// A trial is in the store and counted.
    pub fn counted(&self, suite: &str, scenario: &str, trial: &Trial) {
        let Some(inner) = &self.0 else { return };
        let (suite, verdict) = (inner.suite(suite), KeyValue::new(VERDICT, trial.verdict.name()));
        inner.verdicts.add(1, &[suite.clone(), inner.scenario(scenario), verdict]);
        if let (Verdict::Error | Verdict::Inconclusive, Some(failure)) = (trial.verdict, &trial.failure) {
            inner.errors.add(1, &[suite, KeyValue::new(BLAME, failure.blame.name())]);
        }
    }

    /// A run has ended just now. The times are Unix milliseconds.
    pub fn ended(&self, summary: &Summary, started_at: i64, ended_at: i64) {
        let Some(inner) = &self.0 else { return };
        let status = match (summary.run.state, summary.verdict) {
            (RunState::Finished, RunVerdict::Pass) => STATUSES[0],
            (RunState::Finished, _) => STATUSES[1],
            (RunState::Running | RunState::Interrupted | RunState::Cancelled, _) => STATUSES[2],
        };
        inner.runs.add(1, &[inner.suite(&summary.run.name), KeyValue::new(STATUS, status)]);
        self.restored(summary, started_at, ended_at);
    }

    /// A run that ended before this process began.
    pub fn restored(&self, summary: &Summary, started_at: i64, ended_at: i64) {
        let Some(inner) = &self.0 else { return };
        let ended = Ended::of(summary, started_at, ended_at, &inner.scenarios);
        let suite = inner.suites.get(&summary.run.name);
        let mut now = inner.now();
        if now.ended.get(&suite).is_none_or(|shown| shown.ended_at <= ended_at) {
            now.ended.insert(suite, ended);
        }
    }
}

impl Inner {
    fn suite(&self, name: &str) -> KeyValue {
        KeyValue::new(SUITE, self.suites.get(name))
    }

    fn scenario(&self, name: &str) -> KeyValue {
        KeyValue::new(SCENARIO, self.scenarios.get(name))
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        lock(&self.now)
    }
}

fn lock(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    // Figures are whole after each statement, so a panic elsewhere spoils none.
    now.lock().unwrap_or_else(PoisonError::into_inner)
}

fn show_fleet(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let read = Arc::clone(now);
    gauge(meter, &catalogue::WORKERS, move |to| to.observe(lock(&read).fleet.workers as f64, &[]));
    let read = Arc::clone(now);
    gauge(meter, &catalogue::SLOTS, move |to| {
        let fleet = lock(&read).fleet;
        to.observe(fleet.busy_slots as f64, &[KeyValue::new(STATE, "busy")]);
        to.observe(fleet.free_slots as f64, &[KeyValue::new(STATE, "free")]);
    });
}

type Figure = fn(&Queue) -> u64;

fn show_queues(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let figures: [(&catalogue::Metric, Figure); 4] = [
        (&catalogue::QUEUE_DEPTH, |queue| {
            if queue.running { queue.planned.saturating_sub(queue.lent + queue.done) } else { 0 }
        }),
        (&catalogue::TRIALS_LENT, |queue| queue.lent),
        (&catalogue::TRIALS_PLANNED, |queue| queue.planned),
        (&catalogue::TRIALS_DONE, |queue| queue.done),
    ];
    for (metric, figure) in figures {
        let read = Arc::clone(now);
        gauge(meter, metric, move |to| {
            for (suite, queue) in &lock(&read).queues {
                to.observe(figure(queue) as f64, &[KeyValue::new(SUITE, suite.clone())]);
            }
        });
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("fleet", &self.now().fleet).finish_non_exhaustive()
    }
}
