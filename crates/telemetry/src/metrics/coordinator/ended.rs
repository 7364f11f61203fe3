//! The figures of the latest ended run of each suite: those of its report.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};
use record::{
    Summary, Verdict,
    summary::{Rate, RunVerdict},
};

use super::{Now, lock};
use crate::metrics::{
    catalogue::{self, Metric, SCENARIO, SUITE, VERDICT},
    instruments::gauge,
    labels::Values,
};

/// A run that has ended.
pub(super) struct Ended {
    /// Unix milliseconds.
    pub(super) ended_at: i64,
    duration_seconds: f64,
    cost_usd: f64,
    pass_rate: Rate,
    trials: [(Verdict, u64); 6],
    scenarios: BTreeMap<Arc<str>, Cases>,
}

/// The cases of one scenario.
#[derive(Default)]
struct Cases {
    pass: u64,
    judged: u64,
    failing: u64,
    flaky: u64,
}

impl Ended {
    pub(super) fn of(summary: &Summary, started_at: i64, ended_at: i64, scenarios: &Values) -> Self {
        let totals = &summary.summary;
        let trials = &totals.trials;
        let mut by_scenario: BTreeMap<Arc<str>, Cases> = BTreeMap::new();
        for case in &summary.cases {
            let cases = by_scenario.entry(scenarios.get(&case.scenario)).or_default();
            cases.pass += case.pass;
            cases.judged += case.pass + case.fail;
            cases.failing += u64::from(case.verdict == RunVerdict::Fail);
            cases.flaky += u64::from(case.flaky);
        }
        Self {
            ended_at,
            duration_seconds: ended_at.saturating_sub(started_at) as f64 / 1e3,
            cost_usd: totals.cost.total_usd,
            pass_rate: totals.pass_rate.clone(),
            trials: [
                (Verdict::Pass, trials.pass),
                (Verdict::Fail, trials.fail),
                (Verdict::Inconclusive, trials.inconclusive),
                (Verdict::Error, trials.error),
                (Verdict::Skipped, trials.skipped),
                (Verdict::Cancelled, trials.cancelled),
            ],
            scenarios: by_scenario,
        }
    }
}

pub(super) fn show(meter: &Meter, now: &Arc<Mutex<Now>>) {
    of_suites(meter, now, &catalogue::PASS_RATE_LOW, |run| run.pass_rate.estimate.map(|_| run.pass_rate.low));
    of_suites(meter, now, &catalogue::PASS_RATE_HIGH, |run| run.pass_rate.estimate.map(|_| run.pass_rate.high));
    of_suites(meter, now, &catalogue::RUN_DURATION, |run| Some(run.duration_seconds));
    of_suites(meter, now, &catalogue::RUN_COST, |run| Some(run.cost_usd));
    of_suites(meter, now, &catalogue::RUN_FINISHED, |run| Some(run.ended_at as f64 / 1e3));
    every(meter, now, &catalogue::PASS_RATE, |suite, run, to| {
        if let Some(rate) = run.pass_rate.estimate {
            to.observe(rate, std::slice::from_ref(suite));
        }
        for (scenario, cases) in run.scenarios.iter().filter(|(_, cases)| cases.judged > 0) {
            to.observe(cases.pass as f64 / cases.judged as f64, &[suite.clone(), scenario_label(scenario)]);
        }
    });
    of_scenarios(meter, now, &catalogue::CASES_FAILING, |cases| cases.failing);
    of_scenarios(meter, now, &catalogue::CASES_FLAKY, |cases| cases.flaky);
    every(meter, now, &catalogue::RUN_TRIALS, |suite, run, to| {
        for (verdict, trials) in &run.trials {
            to.observe(*trials as f64, &[suite.clone(), KeyValue::new(VERDICT, verdict.name())]);
        }
    });
}

/// A figure of each suite; a run of which nothing was judged has no rate.
fn of_suites(meter: &Meter, now: &Arc<Mutex<Now>>, metric: &Metric, figure: fn(&Ended) -> Option<f64>) {
    every(meter, now, metric, move |suite, run, to| {
        if let Some(figure) = figure(run) {
            to.observe(figure, std::slice::from_ref(suite));
        }
    });
}

fn of_scenarios(meter: &Meter, now: &Arc<Mutex<Now>>, metric: &Metric, figure: fn(&Cases) -> u64) {
    every(meter, now, metric, move |suite, run, to| {
        for (scenario, cases) in &run.scenarios {
            to.observe(figure(cases) as f64, &[suite.clone(), scenario_label(scenario)]);
        }
    });
}

fn every(
    meter: &Meter,
    now: &Arc<Mutex<Now>>,
    metric: &Metric,
    show: impl Fn(&KeyValue, &Ended, &dyn AsyncInstrument<f64>) + Send + Sync + 'static,
) {
    let read = Arc::clone(now);
    gauge(meter, metric, move |to| {
        for (suite, run) in &lock(&read).ended {
            show(&KeyValue::new(SUITE, suite.clone()), run, to);
        }
    });
}

fn scenario_label(scenario: &Arc<str>) -> KeyValue {
    KeyValue::new(SCENARIO, scenario.clone())
}
