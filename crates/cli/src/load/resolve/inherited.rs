//! A group of a pace takes the keys that it does not have itself from the pace.

use crate::load::settings::Pace;

/// A group with the keys that it does not have itself.
pub(super) fn inherited(own: &Pace, all: &Pace) -> Pace {
    let list = |own: &Vec<String>, all: &Vec<String>| if own.is_empty() { all.clone() } else { own.clone() };
    // A group that says how it starts says all of it: the rate of the others is not a second pace for it.
    let shaped = own.rate.is_some()
        || own.slots.is_some()
        || own.trace.is_some()
        || !own.stages.is_empty()
        || own.steps.is_some()
        || own.executor.is_some();
    let base = if shaped { Pace { duration: all.duration, ..Pace::default() } } else { all.clone() };
    Pace {
        executor: own.executor.or(base.executor),
        rate: own.rate.or(base.rate),
        start_rate: own.start_rate.or(base.start_rate),
        time_unit: own.time_unit.or(all.time_unit),
        arrivals: own.arrivals.or(if own.slots.is_some() || own.trace.is_some() { None } else { all.arrivals }),
        burstiness: own.burstiness.or(if own.arrivals.is_some() { None } else { base.burstiness }),
        slots: own.slots.or(base.slots),
        start_slots: own.start_slots.or(base.start_slots),
        spawn_rate: own.spawn_rate.or(base.spawn_rate),
        iterations: own.iterations.or(base.iterations),
        iterations_per_slot: own.iterations_per_slot.or(base.iterations_per_slot),
        duration: own.duration.or(if needs_duration(own) { base.duration } else { None }),
        max_duration: own.max_duration.or(base.max_duration),
        start_time: own.start_time.or(all.start_time),
        stages: if own.stages.is_empty() { base.stages } else { own.stages.clone() },
        spike: own.spike.or(base.spike),
        steps: own.steps.or(base.steps),
        trace: own.trace.clone().or(base.trace),
        search: None,
        tags: list(&own.tags, &all.tags),
        exclude_tags: list(&own.exclude_tags, &all.exclude_tags),
        wanted: if own.wanted.is_empty() { all.wanted.clone() } else { own.wanted.clone() },
        filter: own.filter.clone().or_else(|| all.filter.clone()),
        weights: if own.weights.is_empty() { all.weights.clone() } else { own.weights.clone() },
        warm_up: None,
        drop_after: None,
        groups: std::collections::BTreeMap::new(),
    }
}

/// Whether the length of a pace does not follow from its other keys.
fn needs_duration(pace: &Pace) -> bool {
    pace.stages.is_empty()
        && pace.steps.is_none()
        && pace.trace.is_none()
        && pace.iterations.is_none()
        && pace.iterations_per_slot.is_none()
}
