//! The values of a coordinator at a scrape: the fleet, the queues and the counters.

use std::sync::{Arc, Mutex};

use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};
use record::{Usd, Verdict};

use super::{
    fleet::{Money, Queue, Waiting},
    now::{BLAMES, Now, STATUSES, lock},
    suites::Suite,
};
use crate::metrics::{
    catalogue::{self, BLAME, Metric, SCENARIO, STATE, STATUS, SUITE, VERDICT},
    instruments::{counted, gauge},
};

pub(super) fn fleet(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let read = Arc::clone(now);
    gauge(meter, &catalogue::WORKERS, move |to| to.observe(lock(&read).fleet.workers as f64, &[]));
    let read = Arc::clone(now);
    gauge(meter, &catalogue::QUARANTINED, move |to| to.observe(lock(&read).fleet.quarantined as f64, &[]));
    let read = Arc::clone(now);
    gauge(meter, &catalogue::SLOTS, move |to| {
        let fleet = lock(&read).fleet;
        to.observe(fleet.busy_slots as f64, &[KeyValue::new(STATE, "busy")]);
        to.observe(fleet.free_slots as f64, &[KeyValue::new(STATE, "free")]);
    });
}

type Length = fn(&Waiting) -> u64;

pub(super) fn waiting(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let figures: [(&Metric, Length); 3] = [
        (&catalogue::COMMANDS, |waiting| waiting.commands),
        (&catalogue::BATCHES, |waiting| waiting.batch_bytes),
        (&catalogue::ORDERS, |waiting| waiting.orders),
    ];
    for (metric, figure) in figures {
        let read = Arc::clone(now);
        gauge(meter, metric, move |to| to.observe(figure(&lock(&read).waiting) as f64, &[]));
    }
}

type Figure = fn(&Queue) -> Option<u64>;
type Amount = fn(&Money) -> Usd;

pub(super) fn queues(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let figures: [(&Metric, Figure); 9] = [
        (&catalogue::QUEUE_DEPTH, |queue| {
            Some(if queue.running { queue.planned.saturating_sub(queue.leased + queue.done) } else { 0 })
        }),
        (&catalogue::TRIALS_LEASED, |queue| Some(queue.leased)),
        (&catalogue::TRIALS_PLANNED, |queue| Some(queue.planned)),
        (&catalogue::TRIALS_DONE, |queue| Some(queue.done)),
        (&catalogue::RUN_PAUSED, |queue| Some(u64::from(queue.running && queue.paused))),
        (&catalogue::LOAD_OFFERED, |queue| queue.load.map(|load| load.offered)),
        (&catalogue::LOAD_COMPLETED, |queue| queue.load.map(|load| load.completed)),
        (&catalogue::LOAD_DROPPED, |queue| queue.load.map(|load| load.dropped)),
        (&catalogue::LOAD_RUNNING, |queue| queue.load.map(|load| load.running)),
    ];
    for (metric, figure) in figures {
        let read = Arc::clone(now);
        gauge(meter, metric, move |to| {
            for (name, suite) in lock(&read).suites.iter() {
                if let Some(figure) = suite.queue.as_ref().and_then(figure) {
                    to.observe(figure as f64, &[KeyValue::new(SUITE, name.clone())]);
                }
            }
        });
    }
}

/// The money of runs with a budget.
pub(super) fn money(meter: &Meter, now: &Arc<Mutex<Now>>) {
    let figures: [(&Metric, Amount); 3] = [
        (&catalogue::RUN_BUDGET, |money| money.budget),
        (&catalogue::RUN_SPENT, |money| money.spent),
        (&catalogue::RUN_RESERVED, |money| money.reserved),
    ];
    for (metric, figure) in figures {
        let read = Arc::clone(now);
        gauge(meter, metric, move |to| {
            for (name, suite) in lock(&read).suites.iter() {
                if let Some(money) = suite.queue.as_ref().and_then(|queue| queue.money) {
                    to.observe(figure(&money).dollars(), &[KeyValue::new(SUITE, name.clone())]);
                }
            }
        });
    }
}

/// All counters start at 0 with the suite: Prometheus sees no increase of a counter that starts with its first event.
pub(super) fn counters(meter: &Meter, now: &Arc<Mutex<Now>>) {
    every(meter, now, &catalogue::RUNS, |label, suite, to| {
        for (status, runs) in STATUSES.into_iter().zip(suite.ends) {
            to.observe(runs, &[label.clone(), KeyValue::new(STATUS, status)]);
        }
    });
    every(meter, now, &catalogue::ERRORS, |label, suite, to| {
        for (blame, trials) in BLAMES.into_iter().zip(suite.errors) {
            to.observe(trials, &[label.clone(), KeyValue::new(BLAME, blame.name())]);
        }
    });
    every(meter, now, &catalogue::VERDICTS, |label, suite, to| {
        for (name, scenario) in &suite.scenarios {
            for (verdict, trials) in Verdict::ALL.into_iter().zip(scenario.verdicts) {
                let verdict = KeyValue::new(VERDICT, verdict.name());
                to.observe(trials, &[label.clone(), KeyValue::new(SCENARIO, name.clone()), verdict]);
            }
        }
    });
}

fn every(
    meter: &Meter,
    now: &Arc<Mutex<Now>>,
    metric: &Metric,
    show: impl Fn(&KeyValue, &Suite, &dyn AsyncInstrument<u64>) + Send + Sync + 'static,
) {
    let read = Arc::clone(now);
    counted(meter, metric, move |to| {
        for (name, suite) in lock(&read).suites.iter() {
            show(&KeyValue::new(SUITE, name.clone()), suite, to);
        }
    });
}
