//! Metrics of a coordinator: the fleet, the queue, the store, and finished runs.
//!
//! Verdicts are those of committed trials, one for each trial. The values of a finished run are those of its report.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use opentelemetry::metrics::{Counter, Histogram, Meter};
use record::{
    Summary, Trial, Verdict,
    summary::{RunState, RunVerdict},
};

pub use self::fleet::{Fleet, Load, Money, Queue, Waiting};
use self::now::{BLAMES, Now, STATUSES, lock};
use super::{
    catalogue,
    instruments::{counter, histogram},
};

mod ended;
mod figures;
mod fleet;
mod now;
mod shown;
mod suites;

/// The coordinator's handle. It is off unless metrics are enabled.
#[derive(Debug, Clone, Default)]
pub struct Coordinator(Option<Arc<Inner>>);

struct Inner {
    granted: Counter<u64>,
    lost: Counter<u64>,
    commits: Histogram<f64>,
    now: Arc<Mutex<Now>>,
}

impl Coordinator {
    pub(super) fn new(meter: &Meter) -> Self {
        let now: Arc<Mutex<Now>> = Arc::default();
        shown::fleet(meter, &now);
        shown::waiting(meter, &now);
        shown::queues(meter, &now);
        shown::money(meter, &now);
        shown::counters(meter, &now);
        ended::show(meter, &now);
        let inner = Inner {
            granted: counter(meter, &catalogue::LEASES_GRANTED),
            lost: counter(meter, &catalogue::LEASES_LOST),
            commits: histogram(meter, &catalogue::COMMIT_DURATION),
            now,
        };
        // A counter must start at 0: if it starts with its first event, Prometheus sees no increase.
        inner.granted.add(0, &[]);
        inner.lost.add(0, &[]);
        Self(Some(Arc::new(inner)))
    }

    /// Whether metrics are on. Expensive values need not be computed otherwise.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Registers a run of the suite, so that its counters start.
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

    pub fn waiting(&self, waiting: Waiting) {
        if let Some(inner) = &self.0 {
            inner.now().waiting = waiting;
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

    /// Records leased trials.
    pub fn granted(&self, trials: u64) {
        if let Some(inner) = &self.0 {
            inner.granted.add(trials, &[]);
        }
    }

    /// Records leased trials that were lost with their worker.
    pub fn lost(&self, trials: u64) {
        if let Some(inner) = &self.0 {
            inner.lost.add(trials, &[]);
        }
    }

    /// Records the commit time of a batch.
    pub fn committed(&self, took: Duration) {
        if let Some(inner) = &self.0 {
            inner.commits.record(took.as_secs_f64(), &[]);
        }
    }

    /// Records a committed trial.
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

    /// Records a run that has just ended. Times are Unix milliseconds.
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

    /// Records a run that ended before this process started. A stopped run is not shown: it cannot be compared with others.
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

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("fleet", &self.now().fleet).finish_non_exhaustive()
    }
}
