//! The values of the latest finished run of each suite, as in its report.

use std::sync::{Arc, Mutex};

use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};
use record::{Summary, summary::RunVerdict};
use statistics::success::success_rate;

use super::{
    figures::{Cases, Ended},
    now::{Now, lock},
    suites::{Suite, Suites},
};
use crate::metrics::{
    catalogue::{self, Metric, SCENARIO, SUITE, VERDICT},
    instruments::gauge,
};

/// From now on the suite shows this run, unless it shows a later one.
pub(super) fn keep(suites: &mut Suites, summary: &Summary, started_at: i64, ended_at: i64) {
    let name = &summary.run.name;
    let suite = suites.suite(name);
    if suite.ended.as_ref().is_some_and(|shown| shown.ended_at > ended_at) {
        return;
    }
    suite.ended = Some(Ended::of(summary, started_at, ended_at));
    suite.scenarios.values_mut().for_each(|scenario| scenario.cases = None);
    for case in &summary.cases {
        let Some(scenario) = suites.scenario(name, &case.scenario) else { continue };
        let cases = scenario.cases.get_or_insert_default();
        cases.counts.merge(&case.counts());
        cases.failing += u64::from(case.verdict == RunVerdict::Fail);
        cases.flaky += u64::from(case.flaky);
    }
}

pub(super) fn show(meter: &Meter, now: &Arc<Mutex<Now>>) {
    of_suites(meter, now, &catalogue::SUCCESS_RATE_LOW, |run| run.success_rate.estimate.map(|_| run.success_rate.low));
    of_suites(meter, now, &catalogue::SUCCESS_RATE_HIGH, |run| {
        run.success_rate.estimate.map(|_| run.success_rate.high)
    });
    of_suites(meter, now, &catalogue::JUDGED_PASS_RATE, |run| run.judged_pass_rate.estimate);
    of_suites(meter, now, &catalogue::RUN_DURATION, |run| Some(run.duration_seconds));
    of_suites(meter, now, &catalogue::RUN_COST, |run| Some(run.cost_usd));
    of_suites(meter, now, &catalogue::RUN_FINISHED, |run| Some(run.ended_at as f64 / 1e3));
    every(meter, now, &catalogue::SUCCESS_RATE, |label, suite, run, to| {
        if let Some(rate) = run.success_rate.estimate {
            to.observe(rate, std::slice::from_ref(label));
        }
        for (scenario, cases) in played(suite) {
            if let Some(rate) = success_rate(&cases.counts).estimate {
                to.observe(rate, &[label.clone(), scenario]);
            }
        }
    });
    of_scenarios(meter, now, &catalogue::CASES_FAILING, |cases| cases.failing);
    of_scenarios(meter, now, &catalogue::CASES_FLAKY, |cases| cases.flaky);
    every(meter, now, &catalogue::RUN_TRIALS, |label, _, run, to| {
        for (verdict, trials) in &run.trials {
            to.observe(*trials as f64, &[label.clone(), KeyValue::new(VERDICT, verdict.name())]);
        }
    });
}

/// A figure of each suite; a run without a trial that says something about the agent has no rate.
fn of_suites(meter: &Meter, now: &Arc<Mutex<Now>>, metric: &Metric, figure: fn(&Ended) -> Option<f64>) {
    every(meter, now, metric, move |label, _, run, to| {
        if let Some(figure) = figure(run) {
            to.observe(figure, std::slice::from_ref(label));
        }
    });
}

fn of_scenarios(meter: &Meter, now: &Arc<Mutex<Now>>, metric: &Metric, figure: fn(&Cases) -> u64) {
    every(meter, now, metric, move |label, suite, _, to| {
        for (scenario, cases) in played(suite) {
            to.observe(figure(cases) as f64, &[label.clone(), scenario]);
        }
    });
}

fn every(
    meter: &Meter,
    now: &Arc<Mutex<Now>>,
    metric: &Metric,
    show: impl Fn(&KeyValue, &Suite, &Ended, &dyn AsyncInstrument<f64>) + Send + Sync + 'static,
) {
    let read = Arc::clone(now);
    gauge(meter, metric, move |to| {
        for (name, suite) in lock(&read).suites.iter() {
            if let Some(run) = &suite.ended {
                show(&KeyValue::new(SUITE, name.clone()), suite, run, to);
            }
        }
    });
}

/// The scenarios of the latest run that ended.
fn played(suite: &Suite) -> impl Iterator<Item = (KeyValue, &Cases)> {
    let label = |name: &Arc<str>| KeyValue::new(SCENARIO, name.clone());
    suite.scenarios.iter().filter_map(move |(name, one)| Some((label(name), one.cases.as_ref()?)))
}
