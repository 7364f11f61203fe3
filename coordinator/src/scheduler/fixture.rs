//! Schedules of loads, for tests.

use std::sync::Arc;

use scenario::{
    Load, Plan,
    load::{LoadGroup, Pace, Profile, Schedule, Spacing},
};

const SECOND: u64 = 1_000_000;

pub(crate) fn schedule(paces: Vec<Pace>) -> Arc<Schedule> {
    warmed_up(paces, 0)
}

pub(crate) fn warmed_up(paces: Vec<Pace>, warm_up_seconds: u64) -> Arc<Schedule> {
    let group = |(index, pace)| LoadGroup { name: format!("group {index}"), pace, mix: Vec::new() };
    let groups = paces.into_iter().enumerate().map(group).collect();
    let text = r#"{"version": 3, "name": "n", "seed": 7, "groups": [], "personas": {}, "agents": ["mock"],
        "live": false, "gates": {"pass_rate": null, "max_unjudged": 0.0}}"#;
    let plan: Plan = serde_json::from_str(text).expect("a plan");
    let load = Some(Load { groups, warm_up_micros: warm_up_seconds * SECOND, drop_after_micros: SECOND, search: None });
    Arc::new(Plan { load, ..plan }.schedule().expect("it has a load"))
}

pub(crate) fn even(rate: f64, seconds: u64) -> Pace {
    Pace::Arrivals { spacing: Spacing::Even, rate: Profile::constant(rate, seconds * SECOND) }
}

pub(crate) fn slots(slots: f64, trials: Option<u64>, ends: Option<u64>) -> Pace {
    let profile = Profile::constant(slots, 3_600 * SECOND);
    Pace::Slots { slots: profile, trials, ends_micros: ends.map(|seconds| seconds * SECOND) }
}
