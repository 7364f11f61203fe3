//! What a coordinator observes: the fleet, the queue, the store, and the figures of runs that ended.
//!
//! Verdicts are those of committed trials, one for each trial. The figures of an ended run are those of its report.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use opentelemetry::metrics::{Counter, Histogram, Meter};
use record::{
    Blame, Summary, Trial, Verdict,
    summary::{RunState, RunVerdict},
};

use self::suites::Suites;
use super::{
    catalogue,
    instruments::{counter, histogram},
};

mod ended;
mod shown;
mod suites;

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
    now: Arc<Mutex<Now>>,
}

/// What is read when somebody looks.
#[derive(Default)]
struct Now {
    fleet: Fleet,
    suites: Suites,
}

impl Coordinator {
    pub(super) fn new(meter: &Meter) -> Self {
        let now: Arc<Mutex<Now>> = Arc::default();
        shown::fleet(meter, &now);
        shown::queues(meter, &now);
        shown::counters(meter, &now);
        ended::show(meter, &now);
        let inner = Inner {
            granted: counter(meter, &catalogue::LEASES_GRANTED),
            lost: counter(meter, &catalogue::LEASES_LOST),
            commits: histogram(meter, &catalogue::COMMIT_DURATION),
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
        if let Some(inner) = &self.0 {
            inner.now().suites.run(suite, scenarios);
        }
    }

    pub fn fleet(&self, fleet: Fleet) {
        if let Some(inner) = &self.0 {
            inner.now().fleet = fleet;
        }
    }

    pub fn queue(&self, suite: &str, queue: Queue) {
        let Some(inner) = &self.0 else { return };
        let mut now = inner.now();
        let shown = &mut now.suites.suite(suite).queue;
        if shown.is_none_or(|shown| !shown.running || shown.started_at <= queue.started_at) {
            *shown = Some(queue);
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
        let mut now = inner.now();
        if let Some(scenario) = now.suites.scenario(suite, scenario) {
            add(&mut scenario.verdicts, &Verdict::ALL, trial.verdict);
        }
        if let (Verdict::Error | Verdict::Inconclusive, Some(failure)) = (trial.verdict, &trial.failure) {
            add(&mut now.suites.suite(suite).errors, &BLAMES, failure.blame);
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
        add(&mut inner.now().suites.suite(&summary.run.name).ends, &STATUSES, status);
        self.restored(summary, started_at, ended_at);
    }

    /// A run that ended before this process began. One that was stopped half way is no night to compare with.
    pub fn restored(&self, summary: &Summary, started_at: i64, ended_at: i64) {
        let Some(inner) = self.0.as_ref().filter(|_| summary.run.state == RunState::Finished) else { return };
        ended::keep(&mut inner.now().suites, summary, started_at, ended_at);
    }
}

/// One more of this kind.
fn add<T: PartialEq, const N: usize>(counts: &mut [u64; N], kinds: &[T; N], kind: T) {
    for (count, _) in counts.iter_mut().zip(kinds).filter(|(_, one)| **one == kind) {
        *count += 1;
    }
}

impl Inner {
    fn now(&self) -> MutexGuard<'_, Now> {
        lock(&self.now)
    }
}

fn lock(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    // Figures are whole after each statement, so a panic elsewhere spoils none.
    now.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("fleet", &self.now().fleet).finish_non_exhaustive()
    }
}
