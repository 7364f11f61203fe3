//! Metrics of a worker: finished calls, turns and trials, and its load.
//!
//! Every attempt counts, even if it is lost later: a worker cannot know which attempt counts.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Meter},
};
use record::{Call, Trial, Turn};

use self::{
    calls::Calls,
    kept::Kept,
    series::{Instruments, Series},
};
use super::{
    catalogue::{self, CHECK, ENDPOINT, FINDING, Metric, STATE},
    instruments::{counter, gauge},
    labels::Values,
};
use crate::{asked::Endpoint, names::Conventions};

mod calls;
mod kept;
mod places;
mod series;

/// The worker's handle. It is off unless metrics are enabled.
#[derive(Debug, Clone, Default)]
pub struct Worker(Option<Arc<Inner>>);

/// Counts the turns and the end of one trial.
#[derive(Debug, Clone, Default)]
pub struct TrialSeries(Option<Here>);

#[derive(Debug, Clone)]
struct Here {
    worker: Arc<Inner>,
    series: Arc<Series>,
}

struct Inner {
    calls: Calls,
    checks: Counter<u64>,
    check_names: Values,
    instruments: Instruments,
    series: Kept,
    now: Arc<Now>,
}

type Count = fn(&Now) -> &AtomicU64;

/// The values to read on each scrape.
#[derive(Debug, Default)]
struct Now {
    slots: AtomicU32,
    busy: AtomicU32,
    unacknowledged: AtomicU64,
    outbox_bytes: AtomicU64,
    messages: AtomicU64,
    connected: AtomicBool,
    /// By endpoint: what adaptive concurrency found, and whether its circuit breaker is open.
    limits: Mutex<BTreeMap<String, (Option<u64>, bool)>>,
}

impl Now {
    /// It is consistent even if a holder of the lock panicked.
    fn limits(&self) -> MutexGuard<'_, BTreeMap<String, (Option<u64>, bool)>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        gauge(meter, &catalogue::LIMIT_CONCURRENCY, move |to| {
            for (endpoint, (level, _)) in &*read.limits() {
                level.iter().for_each(|level| to.observe(*level as f64, &[KeyValue::new(ENDPOINT, endpoint.clone())]));
            }
        });
        let read = Arc::clone(&now);
        gauge(meter, &catalogue::BREAKER_OPEN, move |to| {
            for (endpoint, (_, open)) in &*read.limits() {
                to.observe(f64::from(u8::from(*open)), &[KeyValue::new(ENDPOINT, endpoint.clone())]);
            }
        });
        let counts: [(&Metric, Count); 3] = [
            (&catalogue::UNACKNOWLEDGED, |now| &now.unacknowledged),
            (&catalogue::OUTBOX, |now| &now.outbox_bytes),
            (&catalogue::MESSAGES, |now| &now.messages),
        ];
        for (metric, count) in counts {
            let read = Arc::clone(&now);
            gauge(meter, metric, move |to| to.observe(count(&read).load(Ordering::Relaxed) as f64, &[]));
        }
        Self(Some(Arc::new(Inner {
            calls: Calls::new(meter, conventions),
            checks: counter(meter, &catalogue::CHECKS),
            check_names: Values::new(CHECK),
            instruments: Instruments::new(meter),
            series: Kept::new(),
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

    /// The counters of one trial's turns.
    #[must_use]
    pub fn place(&self, suite: &str, scenario: &str, persona: Option<&str>) -> TrialSeries {
        let Some(worker) = &self.0 else { return TrialSeries(None) };
        let series = worker.series.get(&worker.instruments, suite, scenario, persona.unwrap_or_default());
        TrialSeries(Some(Here { worker: Arc::clone(worker), series }))
    }

    /// Sets the number of busy slots and of all slots.
    pub fn slots(&self, busy: u32, slots: u32) {
        if let Some(worker) = &self.0 {
            worker.now.slots.store(slots, Ordering::Relaxed);
            worker.now.busy.store(busy, Ordering::Relaxed);
        }
    }

    /// Sets how an endpoint is: what adaptive concurrency found, and whether its circuit breaker is open.
    pub fn limit(&self, endpoint: &str, level: Option<u64>, open: bool) {
        if let Some(worker) = &self.0 {
            worker.now.limits().insert(endpoint.to_owned(), (level, open));
        }
    }

    /// Sets the number of unacknowledged trials.
    pub fn unacknowledged(&self, trials: usize) {
        if let Some(worker) = &self.0 {
            worker.now.unacknowledged.store(trials as u64, Ordering::Relaxed);
        }
    }

    /// Sets the size of all results that are not acknowledged.
    pub fn outbox(&self, bytes: usize) {
        if let Some(worker) = &self.0 {
            worker.now.outbox_bytes.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Sets the number of messages that wait for the stream.
    pub fn messages(&self, messages: usize) {
        if let Some(worker) = &self.0 {
            worker.now.messages.store(messages as u64, Ordering::Relaxed);
        }
    }

    /// Sets whether the worker has an open stream to a coordinator.
    pub fn connected(&self, connected: bool) {
        if let Some(worker) = &self.0 {
            worker.now.connected.store(connected, Ordering::Relaxed);
        }
    }

    /// The last value from [`Worker::connected`]; false if metrics are off.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.0.as_ref().is_some_and(|worker| worker.now.connected.load(Ordering::Relaxed))
    }
}

impl TrialSeries {
    /// Records a finished turn with its calls.
    pub fn turn(&self, turn: &Turn) {
        let Some(Here { worker, series }) = &self.0 else { return };
        turn.calls.iter().for_each(|call| worker.calls.ended(call));
        series.turn(&worker.instruments, turn);
    }

    /// Records a finished call without a turn.
    pub fn call(&self, call: &Call) {
        if let Some(Here { worker, .. }) = &self.0 {
            worker.calls.ended(call);
        }
    }

    /// Records a finished trial.
    pub fn ended(&self, trial: &Trial) {
        let Some(Here { worker, series }) = &self.0 else { return };
        series.ended(&worker.instruments, trial);
        for judgment in &trial.judgments {
            if let Some(name) = &judgment.name {
                let finding = KeyValue::new(FINDING, judgment.finding.name());
                worker.checks.add(1, &[KeyValue::new(CHECK, worker.check_names.get(name)), finding]);
            }
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("now", &self.now).finish_non_exhaustive()
    }
}
