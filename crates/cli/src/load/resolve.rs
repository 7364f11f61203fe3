//! From a pace as it is written to the load that the planner takes.

mod heights;
mod inherited;

use std::path::Path;

use scenario::{
    load::{self, Choice, GroupChoice, Profile, Spacing, Stage, USUAL_DROP_AFTER_MICROS},
    time,
};
use serde_json::Value;

use self::{
    heights::{Heights, Of, delay, start_micros},
    inherited::inherited,
};
use super::{
    fault::{Fault, Found, fault},
    search,
    settings::{Arrivals, Executor, OTHER_NAMES, Pace},
    trace,
    units::{Amount, Span},
};
use crate::args::SLOTS;

/// How other tools call a key, for the places of faults: a file may say `vus` where we say `slots`.
pub(crate) fn other_names(key: &str) -> impl Iterator<Item = &'static str> {
    OTHER_NAMES.into_iter().filter(move |(_, ours)| *ours == key).map(|(other, _)| other)
}

/// The load of a pace. Files of traces are relative to `folder`.
pub(crate) fn choice(name: &str, pace: &Pace, folder: &Path) -> Found<Choice> {
    let mut groups = Vec::new();
    if pace.search.is_some() && !pace.groups.is_empty() {
        return fault("search", "does not go with `groups`: a search has one group");
    }
    let search = search::search(pace, &keys(pace))?;
    if pace.groups.is_empty() {
        groups.push(group(name, pace, folder)?);
    }
    for (group_name, own) in &pace.groups {
        let in_group = |fault: Fault| {
            let place = ["groups".to_owned(), group_name.clone()];
            Fault { key: place.into_iter().chain(fault.key).collect(), ..fault }
        };
        for (key, is_written) in [
            ("groups", !own.groups.is_empty()),
            ("warm_up", own.warm_up.is_some()),
            ("drop_after", own.drop_after.is_some()),
            ("search", own.search.is_some()),
        ] {
            if is_written {
                let help = match key {
                    "search" => {
                        "a search has no other group beside it\nhint: write it as a pace without `groups`".to_owned()
                    }
                    _ => format!("holds for all groups\nhint: write `{key}` beside `groups`"),
                };
                return fault(key, help).map_err(in_group);
            }
        }
        groups.push(group(group_name, &inherited(own, pace), folder).map_err(in_group)?);
    }
    let micros = |span: Option<Span>| span.map(|span| span.micros);
    let warm_up_micros = micros(pace.warm_up).unwrap_or(0);
    let last = groups.iter().map(|group| ends_micros(&group.pace)).max().flatten();
    if let Some(last) = last.filter(|last| warm_up_micros >= *last) {
        let (warm_up, last) = (time::show(warm_up_micros), time::show(last));
        return fault("warm_up", format!("is {warm_up}, and starts end after {last}: nothing is left for the figures"));
    }
    if micros(pace.drop_after) == Some(0) {
        let usual = time::show(USUAL_DROP_AFTER_MICROS);
        return fault(
            "drop_after",
            format!(
                "is 0, and every start takes some microseconds: all would be dropped\nhint: without `drop_after`, a start waits {usual} for a free slot"
            ),
        );
    }
    let drop_after_micros = micros(pace.drop_after).unwrap_or(USUAL_DROP_AFTER_MICROS);
    Ok(Choice { groups, warm_up_micros, drop_after_micros, search })
}

/// When a pace starts nothing any more; `None`: only the number of conversations ends it.
fn ends_micros(pace: &load::Pace) -> Option<u64> {
    match pace {
        load::Pace::Slots { ends_micros, .. } => *ends_micros,
        load::Pace::Arrivals { rate, .. } => Some(rate.micros()),
        load::Pace::Trace { gaps_micros } => Some(gaps_micros.iter().sum::<u64>().saturating_add(1)),
    }
}

fn group(name: &str, written: &Pace, folder: &Path) -> Found<GroupChoice> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let conditions = written.wanted.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    for (scenario, weight) in &written.weights {
        if !(0.0..=1_000_000.0).contains(weight) {
            return fault("weights", format!("gives `{scenario}` {weight}, and must be from 0 to 1000000"));
        }
    }
    Ok(GroupChoice {
        name: name.to_owned(),
        pace: pace(written, folder)?,
        tags: written.tags.clone(),
        exclude_tags: written.exclude_tags.clone(),
        filter: written.filter.clone(),
        conditions: conditions.map(|(name, value)| (name.clone(), text(value))).collect(),
        weights: written.weights.iter().map(|(name, weight)| (name.clone(), *weight)).collect(),
    })
}

fn pace(written: &Pace, folder: &Path) -> Found<load::Pace> {
    if let Some(trace) = &written.trace {
        let others = keys(written).into_iter().find(|key| !matches!(*key, "trace" | "start_time"));
        if let Some(key) = others {
            return fault(key, "does not go with `trace`, which has the time of every start");
        }
        let gaps_micros = trace::gaps(trace, start_micros(written), folder)
            .map_err(|(key, reason)| Fault { key: vec!["trace".to_owned(), key.to_owned()], reason })?;
        return Ok(load::Pace::Trace { gaps_micros });
    }
    if written.search.is_some() || is_open(written)? { arrivals(written) } else { slots(written) }
}

/// The keys of the pace that are written.
fn keys(written: &Pace) -> Vec<&'static str> {
    [
        ("executor", written.executor.is_some()),
        ("rate", written.rate.is_some()),
        ("start_rate", written.start_rate.is_some()),
        ("arrivals", written.arrivals.is_some()),
        ("burstiness", written.burstiness.is_some()),
        ("slots", written.slots.is_some()),
        ("start_slots", written.start_slots.is_some()),
        ("spawn_rate", written.spawn_rate.is_some()),
        ("iterations", written.iterations.is_some()),
        ("iterations_per_slot", written.iterations_per_slot.is_some()),
        ("duration", written.duration.is_some()),
        ("max_duration", written.max_duration.is_some()),
        ("start_time", written.start_time.is_some()),
        ("stages", !written.stages.is_empty()),
        ("spike", written.spike.is_some()),
        ("steps", written.steps.is_some()),
        ("trace", written.trace.is_some()),
        ("search", written.search.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, is_written)| is_written.then_some(key))
    .collect()
}

/// Whether conversations start at a rate; otherwise in slots. Both at once are two groups.
fn is_open(written: &Pace) -> Found<bool> {
    let all = keys(written);
    let first = |of: &[&'static str]| all.iter().copied().find(|key| of.contains(key));
    let open = first(&["rate", "start_rate", "arrivals", "burstiness"]);
    let closed = first(&["slots", "start_slots", "spawn_rate", "iterations", "iterations_per_slot", "max_duration"]);
    let by_name = written
        .executor
        .map(|executor| matches!(executor, Executor::ConstantArrivalRate | Executor::RampingArrivalRate));
    let has_unit = written.stages.first().is_some_and(|stage| stage.target.per.is_some())
        || written.steps.is_some_and(|steps| steps.to.per.is_some());
    match (open, closed) {
        (Some(open), Some(closed)) => fault(
            closed,
            format!(
                "does not go with `{open}`: conversations start at a rate or in slots\n\
                 hint: `slots` beside `load`, or --slots, says how many conversations a machine plays at once; for both paces, write two `groups`"
            ),
        ),
        (Some(open), None) if by_name == Some(false) => {
            fault("executor", format!("plays slots, and `{open}` is a rate"))
        }
        (None, Some(closed)) if by_name == Some(true) => {
            fault("executor", format!("starts conversations at a rate, and `{closed}` is of slots"))
        }
        (Some(_), None) => Ok(true),
        (None, Some(_)) => Ok(false),
        (None, None) => match by_name {
            Some(by_name) => Ok(by_name),
            None if has_unit => Ok(true),
            None => Err(Fault {
                key: Vec::new(),
                reason: "says neither a rate nor a number of slots\n\
                 hint: write `rate: 5/s` for starts at a rate, or `slots: 10` for conversations one after another"
                    .to_owned(),
            }),
        },
    }
}

fn arrivals(written: &Pace) -> Found<load::Pace> {
    if let (Some(Executor::ConstantArrivalRate), false) = (written.executor, written.stages.is_empty()) {
        return fault("executor", "has no stages\nhint: `ramping-arrival-rate` has");
    }
    if let (Some(Executor::RampingArrivalRate), true) = (written.executor, written.stages.is_empty()) {
        return fault("executor", "needs `stages`\nhint: write `stages: [{ target: 10/s, duration: 5m }]`");
    }
    let spacing = match (written.arrivals, written.burstiness) {
        (None | Some(Arrivals::Even), None) => Spacing::Even,
        (Some(Arrivals::Poisson), None) => Spacing::Poisson,
        (Some(Arrivals::Gamma) | None, Some(burstiness)) if (0.001..=1000.0).contains(&burstiness) => {
            Spacing::Gamma { burstiness }
        }
        (Some(Arrivals::Gamma) | None, Some(burstiness)) => {
            return fault("burstiness", format!("is {burstiness}, and must be from 0.001 to 1000"));
        }
        (Some(Arrivals::Gamma), None) => {
            return fault("arrivals", "needs `burstiness`\nhint: 1 is `poisson`, 0.25 comes in bursts");
        }
        (Some(Arrivals::Even | Arrivals::Poisson), Some(_)) => {
            return fault(
                "burstiness",
                "goes with `arrivals: gamma`, whose shape it is\nhint: write `arrivals: gamma`, or leave `burstiness` out",
            );
        }
    };
    if let Some(search) = search::search(written, &keys(written))? {
        return search::pace(written, &search, spacing);
    }
    let heights = Heights { written, of: Of::Rate };
    let rate = heights.profile(written.rate.or(written.start_rate), "rate")?;
    checked(load::Pace::Arrivals { spacing, rate }, "rate")
}

fn slots(written: &Pace) -> Found<load::Pace> {
    if let Some(slots) = written.slots.filter(|slots| !SLOTS.contains(slots)) {
        return fault("slots", format!("is {slots}, and must be from {} to {}", SLOTS.start(), SLOTS.end()));
    }
    let has_stages = !written.stages.is_empty();
    match written.executor {
        Some(Executor::RampingVus) if !has_stages => {
            return fault("executor", "needs `stages`\nhint: write `stages: [{ target: 10, duration: 5m }]`");
        }
        Some(Executor::ConstantVus | Executor::SharedIterations | Executor::PerVuIterations) if has_stages => {
            return fault("executor", "has no stages\nhint: `ramping-vus` has");
        }
        Some(Executor::SharedIterations | Executor::PerVuIterations)
            if written.iterations.or(written.iterations_per_slot).is_none() =>
        {
            return fault("executor", "needs `iterations`");
        }
        Some(Executor::ConstantVus | Executor::RampingVus) if written.iterations.is_some() => {
            return fault(
                "executor",
                "ends by time, and `iterations` is a number of conversations\nhint: `shared-iterations` has one",
            );
        }
        _ => {}
    }
    let of_each = match (written.executor, written.iterations, written.iterations_per_slot) {
        (_, Some(_), Some(_)) => return fault("iterations_per_slot", "does not go with `iterations`: choose one"),
        (Some(Executor::PerVuIterations), each @ Some(_), None) | (_, None, each) => each,
        _ => None,
    };
    let trials = match of_each {
        Some(each) => Some(each.saturating_mul(u64::from(written.slots.unwrap_or(1)))),
        None => written.iterations,
    };
    let start = start_micros(written);
    if let Some(trials) = trials {
        let key = if of_each.is_some() && written.iterations.is_none() { "iterations_per_slot" } else { "iterations" };
        if trials == 0 {
            return fault(key, "is 0: nothing would be played");
        }
        if written.duration.is_some() {
            return fault("duration", format!("does not go with `{key}`\nhint: `max_duration` ends it earlier"));
        }
        let Some(slots) = written.slots else { return fault(key, "needs `slots`\nhint: write `slots: 10`") };
        if has_stages || written.spike.is_some() || written.steps.is_some() {
            return fault(key, "goes with a constant number of `slots` alone");
        }
        let ends_micros = written.max_duration.map(|span| start.saturating_add(span.micros));
        let mut stages = delay(start);
        stages.push(Stage { micros: 1_000_000, from: f64::from(slots), to: f64::from(slots) });
        return checked(load::Pace::Slots { slots: Profile { stages }, trials: Some(trials), ends_micros }, "slots");
    }
    if written.max_duration.is_some() {
        return fault("max_duration", "goes with `iterations`\nhint: write `duration`");
    }
    let heights = Heights { written, of: Of::Slots };
    let first = written.slots.or(written.start_slots).map(|slots| Amount { count: f64::from(slots), per: None });
    let slots = heights.profile(first, "slots")?;
    let ends_micros = Some(slots.micros());
    checked(load::Pace::Slots { slots, trials: None, ends_micros }, "slots")
}

/// The planner refuses the same; here the fault has a place.
fn checked(pace: load::Pace, key: &str) -> Found<load::Pace> {
    match pace.consistent() {
        Ok(()) => Ok(pace),
        Err(reason) => fault(key, format!("cannot be played: {reason}")),
    }
}

#[cfg(test)]
mod tests;
