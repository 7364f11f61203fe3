//! The chart of quality by offered load: the success rate with its interval, and the knee.

use std::collections::BTreeMap;

use record::summary::{KneeUnit, Load, LoadStep, Rate};

use super::{
    chart::{Tick, step},
    plot::{Band, Drawn, LEFT, Mark, Plot, RIGHT, Value, shown},
};
use crate::{
    document::load,
    figures::{self, number, percent},
};

impl Plot {
    /// `None` if fewer than two loads say something about the agent, or if loads have no order.
    pub(super) fn by_load(load: &Load) -> Option<Self> {
        let (unit, of) = axis(&load.steps)?;
        // A load that comes again is one point.
        let mut levels: BTreeMap<u64, (f64, u64, u64)> = BTreeMap::new();
        for step in &load.steps {
            let at = of(step)?;
            let level = levels.entry(at.to_bits()).or_insert((at, 0, 0));
            level.1 += step.pass;
            level.2 += step.pass + step.fail + step.agent_errors;
        }
        levels.retain(|_, (_, _, n)| *n > 0);
        let most = levels.values().map(|(at, ..)| *at).fold(0.0, f64::max);
        if levels.len() < 2 {
            return None;
        }
        let step = step(most);
        let end = (most / step).ceil().max(1.0) * step;
        let x = |at: f64| LEFT + at / end * (RIGHT - LEFT);
        let value = |(at, pass, n): &(f64, u64, u64)| {
            let rate: Rate = statistics::interval(*pass, *n);
            let label = format!(
                "{} of {} at {}: 95% interval {}",
                figures::estimate(&rate),
                figures::count(*n),
                load::of_unit(*at, unit),
                figures::interval(&rate)
            );
            Value { x: x(*at), y: rate.estimate, interval: Some((rate.low, rate.high)), label }
        };
        let values = levels.values().map(value).collect();
        let line = Drawn { class: "quality", name: "success rate".to_owned(), values };
        let mut plot = Self::of(("success-by-load", "Success rate by offered load"), vec![line], Some(1.0), percent)?;
        plot.columns = (0..=(end / step).round() as u64)
            .map(|index| index as f64 * step)
            .map(|at| Tick { at: shown(x(at)), label: number(at) })
            .collect();
        plot.below = Some(match unit {
            KneeUnit::Rate => "conversations started per second",
            KneeUnit::Slots => "conversations at once (slots)",
        });
        if let Some(knee) = &load.knee {
            let title = load::knee(load).unwrap_or_default();
            let name = format!("knee {}", load::of_unit(knee.load, unit));
            plot.marks.push(Mark { x: shown(x(knee.load)), name, title });
            plot.bands.push(Band { x: shown(x(knee.low)), width: shown(x(knee.high) - x(knee.low)) });
        }
        if let Some(knee) = load::knee(load) {
            plot.about = format!("{}; {knee}", plot.about);
        }
        Some(plot)
    }
}

/// The load that a step offers.
type Offered = fn(&LoadStep) -> Option<f64>;

/// What changes from step to step.
fn axis(steps: &[LoadStep]) -> Option<(KneeUnit, Offered)> {
    let varies = |of: Offered| steps.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]));
    let (rate, slots): (Offered, Offered) = (|step| step.rate, |step| step.slots);
    match (varies(rate), varies(slots)) {
        (true, false) => Some((KneeUnit::Rate, rate)),
        (false, true) => Some((KneeUnit::Slots, slots)),
        (true, true) | (false, false) => None,
    }
}
