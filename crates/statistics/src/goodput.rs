//! Goodput in figures.

use record::{
    goodput::Met,
    summary::{Goodput, GoodputFigures, GoodputLimits, Wall},
};

#[must_use]
pub fn figures(met: &Met) -> GoodputFigures {
    GoodputFigures {
        turns: met.turns,
        turns_met: met.turns_met,
        turn_share: (met.turns > 0).then(|| met.turns_met as f64 / met.turns as f64),
        conversations: crate::interval(met.conversations_met, met.conversations),
        conversations_met: met.conversations_met,
    }
}

/// Of a whole run.
#[must_use]
pub fn of_run(limits: GoodputLimits, met: &Met, wall: Option<&Wall>) -> Goodput {
    let seconds = wall.map(|wall| wall.measured() as f64 / 1_000.0).filter(|seconds| *seconds > 0.0);
    Goodput {
        limits,
        figures: figures(met),
        missed: met.missed,
        turns_met_per_second: seconds.map(|seconds| (met.turns_met as f64 / seconds * 100.0).round() / 100.0),
    }
}
