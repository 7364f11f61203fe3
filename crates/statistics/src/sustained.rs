//! Up to which load the requirements of a run hold.
//!
//! `requirement.rs` says what holds at a load.

use record::{
    summary::{KneeUnit, Sustained},
    tally::StepTally,
};
use scenario::{
    load::{Step, StepVerdict},
    plan::Gates,
};

use crate::requirement::{self, Level, Requirement};

/// `None` without requirements, or if the loads have no order.
#[must_use]
pub fn of<'a>(steps: impl Iterator<Item = (&'a Step, &'a StepTally)>, gates: &Gates) -> Option<Sustained> {
    let requirements = requirement::all(gates);
    if requirements.is_empty() {
        return None;
    }
    let steps: Vec<_> = steps.collect();
    let (unit, load) = axis(&steps)?;
    let mut levels: Vec<(f64, Level)> = Vec::new();
    for (step, tally) in steps {
        let load = load(step)?;
        let known = levels.iter().position(|(known, _)| known.total_cmp(&load).is_eq());
        let index = known.unwrap_or_else(|| {
            levels.push((load, Level::default()));
            levels.len() - 1
        });
        levels.get_mut(index)?.1.add(tally);
    }
    levels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let verdicts: Vec<(f64, StepVerdict)> =
        levels.iter().map(|(load, level)| (*load, level.verdict(&requirements))).collect();
    let first = |wanted: StepVerdict| verdicts.iter().find(|(_, verdict)| *verdict == wanted).map(|(load, _)| *load);
    let broken_at = first(StepVerdict::Broke);
    let below = |load: f64| broken_at.is_none_or(|broken| load < broken);
    let held = verdicts.iter().rev().find(|(load, verdict)| *verdict == StepVerdict::Held && below(*load));
    let undecided = verdicts.iter().filter(|(_, verdict)| *verdict == StepVerdict::Undecided).map(|(load, _)| *load);
    Some(Sustained {
        unit,
        requirements: requirements.iter().map(Requirement::text).collect(),
        load: held.map(|(load, _)| *load),
        broken_at,
        undecided: undecided.collect(),
    })
}

/// The load of a step.
type Offered = fn(&Step) -> Option<f64>;

/// What loads are compared by: the rate or the slots, if only one of them changes or is there.
fn axis(steps: &[(&Step, &StepTally)]) -> Option<(KneeUnit, Offered)> {
    let varies = |of: Offered| steps.windows(2).any(|pair| of(pair[0].0) != of(pair[1].0));
    let (rate, slots): (Offered, Offered) = (|step| step.rate, |step| step.slots);
    let first = steps.first()?.0;
    match (varies(rate), varies(slots)) {
        (true, false) => Some((KneeUnit::Rate, rate)),
        (false, true) => Some((KneeUnit::Slots, slots)),
        (true, true) => None,
        (false, false) => match (first.rate, first.slots) {
            (Some(_), None) => Some((KneeUnit::Rate, rate)),
            (None, Some(_)) => Some((KneeUnit::Slots, slots)),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use record::tally::Counts;
    use scenario::Objective;

    use super::*;

    fn gates(pass_rate: Option<f64>, objectives: &[&str]) -> Gates {
        let objectives = objectives.iter().map(|text| Objective::read(text).unwrap()).collect();
        let gates: Gates = serde_json::from_str(r#"{"pass_rate": null, "max_unjudged": 0.0}"#).unwrap();
        Gates { pass_rate, objectives, ..gates }
    }

    fn step(rate: Option<f64>, slots: Option<f64>) -> Step {
        Step { from: Duration::ZERO, until: None, rate, slots }
    }

    /// So many conversations passed of so many, with a turn each that took so many milliseconds.
    fn tally(pass: u64, n: u64, millis: u64) -> StepTally {
        let mut tally =
            StepTally { ends: Counts { pass, fail: n - pass, ..Counts::default() }, ..StepTally::default() };
        (0..n).for_each(|_| tally.response.record(millis * 1_000));
        tally
    }

    fn found(levels: &[(f64, u64, u64, u64)], gates: &Gates) -> Sustained {
        let steps: Vec<(Step, StepTally)> =
            levels.iter().map(|&(rate, pass, n, millis)| (step(Some(rate), None), tally(pass, n, millis))).collect();
        of(steps.iter().map(|(step, tally)| (step, tally)), gates).unwrap()
    }

    #[test]
    fn it_is_the_highest_load_whose_interval_meets_all_requirements() {
        let nine_of_ten = gates(Some(0.9), &[]);
        let falling = [(8.0, 60, 100, 9), (2.0, 99, 100, 9), (4.0, 98, 100, 9), (6.0, 91, 100, 9)];
        let sustained = found(&falling, &nine_of_ten);
        assert_eq!(sustained.requirements, ["pass_rate >= 90%"]);
        assert_eq!((sustained.load, sustained.broken_at, sustained.undecided), (Some(4.0), Some(8.0), vec![6.0]));
        // Conversations of one load count together.
        let (half, twice) = ([(2.0, 95, 100, 9)], [(2.0, 95, 100, 9), (2.0, 95, 100, 9)]);
        assert_eq!((found(&half, &nine_of_ten).load, found(&twice, &nine_of_ten).load), (None, Some(2.0)));
        // Beyond a load at which it is broken nothing is claimed.
        let odd = [(1.0, 10, 100, 9), (2.0, 100, 100, 9)];
        assert_eq!((found(&odd, &nine_of_ten).load, found(&odd, &nine_of_ten).broken_at), (None, Some(1.0)));
        let few = [(1.0, 5, 5, 9), (2.0, 4, 5, 9)];
        let few = found(&few, &nine_of_ten);
        assert_eq!((few.load, few.broken_at, few.undecided), (None, None, vec![1.0, 2.0]));
    }

    #[test]
    fn percentiles_and_errors_are_requirements_too() {
        let all =
            gates(Some(0.5), &["p95(response) < 2s for 60s, abort", "error_rate <= 5%", "cost < 9", "max(ttft) < 1s"]);
        let levels = [(1.0, 300, 300, 500), (2.0, 300, 300, 1_900), (3.0, 300, 300, 2_100)];
        let sustained = found(&levels, &all);
        assert_eq!(sustained.requirements, ["pass_rate >= 50%", "p95(response) < 2s", "error_rate <= 5%"]);
        assert_eq!((sustained.load, sustained.broken_at), (Some(2.0), Some(3.0)));
        // 20 turns do not show that 95 % of turns are within 2 s.
        assert_eq!(found(&[(1.0, 20, 20, 500)], &all).load, None);
        let only_others = gates(None, &["dropped == 0", "pass_rate{scenario=a} >= 90%", "p95(wait) < 1s"]);
        assert_eq!(of(std::iter::empty(), &only_others), None);
    }

    #[test]
    fn loads_without_an_order_have_no_highest_one() {
        let gates = gates(Some(0.9), &[]);
        let steps = |all: &[(Option<f64>, Option<f64>)]| {
            let steps: Vec<(Step, StepTally)> =
                all.iter().map(|(rate, slots)| (step(*rate, *slots), tally(100, 100, 9))).collect();
            of(steps.iter().map(|(step, tally)| (step, tally)), &gates).map(|found| (found.unit, found.load))
        };
        assert_eq!(steps(&[(Some(1.0), Some(2.0)), (Some(2.0), Some(3.0))]), None);
        assert_eq!(steps(&[(Some(1.0), Some(2.0))]), None);
        assert_eq!(steps(&[(Some(1.0), Some(2.0)), (Some(1.0), Some(3.0))]), Some((KneeUnit::Slots, Some(3.0))));
        assert_eq!(steps(&[(None, Some(2.0))]), Some((KneeUnit::Slots, Some(2.0))));
    }

    #[test]
    fn it_is_seldom_claimed_beyond_the_load_where_a_requirement_breaks() {
        // The true rate is 1 - load / 100, so 90 % hold up to 10. 100 runs of 19 loads with 200 conversations each.
        let gates = gates(Some(0.9), &[]);
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let mut beyond = 0;
        for _ in 0..100 {
            let mut levels = Vec::new();
            for load in 1..20_u32 {
                let pass = (0..200).filter(|_| draw() > f64::from(load) / 100.0).count() as u64;
                levels.push((f64::from(load), pass, 200, 9));
            }
            beyond += u32::from(found(&levels, &gates).load > Some(10.0));
        }
        assert!(beyond <= 10, "{beyond} of 100");
    }
}
