//! The operating characteristic of a gate: how often it lets a run pass, and how often it stops one, if each trial passes with the
//! same true rate and trials are independent.
//!
//! All chances are exact: sums of the binomial distribution.

use super::Asked;
use crate::clopper_pearson::chance_of_at_least;

/// Parts of a run that a gate judges by the same requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planned {
    pub asked: Asked,
    /// The trials of each part.
    pub trials: u64,
    pub parts: u64,
}

/// The chances of the verdicts of a gate; their sum is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Odds {
    pub pass: f64,
    /// INCONCLUSIVE: too few trials to tell.
    pub open: f64,
    pub fail: f64,
}

/// The chances of a gate that passes if each of the parts does, and fails if one does. No trial is in two parts.
#[must_use]
pub fn odds(planned: &[Planned], rate: f64) -> Odds {
    let (mut pass, mut none_fails) = (1.0_f64, 1.0_f64);
    for of in planned {
        let one = of.one(rate);
        pass *= one.pass.powf(of.parts as f64);
        none_fails *= (1.0 - one.fail).powf(of.parts as f64);
    }
    if planned.is_empty() {
        pass = 0.0;
    }
    Odds { pass, open: (none_fails - pass).max(0.0), fail: 1.0 - none_fails }
}

/// The fewest passes of so many trials with which the requirement holds; `None`: not even all are enough.
#[must_use]
pub fn least_passes(asked: Asked, trials: u64) -> Option<u64> {
    let least = first(trials, |pass| asked.holds(pass, trials));
    (least <= trials && trials > 0).then_some(least)
}

/// The most passes of so many trials with which the requirement is broken; `None`: not even with none.
#[must_use]
pub fn most_failing_passes(asked: Asked, trials: u64) -> Option<u64> {
    first(trials, |pass| !asked.is_broken(pass, trials)).checked_sub(1)
}

impl Planned {
    fn one(&self, rate: f64) -> Odds {
        let at_least = |pass: u64| chance_of_at_least(pass, self.trials, rate);
        let pass = least_passes(self.asked, self.trials).map_or(0.0, at_least);
        let fail = most_failing_passes(self.asked, self.trials).map_or(0.0, |most| 1.0 - at_least(most + 1));
        Odds { pass, open: (1.0 - pass - fail).max(0.0), fail }
    }
}

/// The first number up to `most` for which this holds, and with it all larger ones; `most + 1` if there is none.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{summary::RunVerdict, tally::Counts};

    use super::*;

    fn one(asked: Asked, trials: u64) -> Vec<Planned> {
        vec![Planned { asked, trials, parts: 1 }]
    }

    /// The figures of the issue: a gate of 95 % over 20 repeats.
    #[test]
    fn a_gate_of_95_percent_over_20_trials_is_a_coin_with_known_sides() {
        let gate = one(Asked::Rate(0.95), 20);
        for (rate, pass) in [(0.95, 0.735_840), (0.9, 0.391_747), (0.99, 0.983_141), (1.0, 1.0), (0.0, 0.0)] {
            let found = odds(&gate, rate);
            assert!((found.pass - pass).abs() < 1e-6 && found.open.abs() < 1e-12, "{rate}: {found:?}");
        }
        let shown = Asked::Shown { least: 0.95, confidence: 0.95 };
        let few = odds(&one(shown, 20), 1.0);
        assert_eq!((few.pass, few.open), (0.0, 1.0), "20 trials cannot show it");
        assert_eq!(
            (least_passes(shown, 58), least_passes(shown, 59), least_passes(shown, 93)),
            (None, Some(59), Some(92))
        );
        assert_eq!((most_failing_passes(shown, 20), most_failing_passes(shown, 1)), (Some(16), None));
        let wrong = odds(&one(shown, 400), 0.95);
        assert!(wrong.pass <= 0.05 && wrong.fail <= 0.05, "at the limit both are wrong in at most 1 of 20: {wrong:?}");
    }

    #[test]
    fn each_part_must_pass() {
        let parts = [
            Planned { asked: Asked::Rate(1.0), trials: 5, parts: 3 },
            Planned { asked: Asked::Rate(0.5), trials: 1, parts: 1 },
        ];
        let found = odds(&parts, 0.9);
        assert!((found.pass - 0.9_f64.powi(16)).abs() < 1e-12 && found.open < 1e-12, "{found:?}");
        assert_eq!(odds(&[], 1.0), Odds { pass: 0.0, open: 1.0, fail: 0.0 });
    }

    fn requirement() -> impl Strategy<Value = Asked> {
        let share = (0_u32..=100).prop_map(|percent| f64::from(percent) / 100.0);
        prop_oneof![
            share.clone().prop_map(Asked::Rate),
            share.clone().prop_map(Asked::Floor),
            (share, 0.6_f64..0.99).prop_map(|(least, confidence)| Asked::Shown { least, confidence }),
        ]
    }

    proptest! {
        #[test]
        fn the_odds_are_those_of_every_outcome(asked in requirement(), trials in 1_u64..40, rate in 0.0_f64..=1.0) {
            let (mut pass, mut fail) = (0.0, 0.0);
            for passed in 0..=trials {
                let counts = Counts { pass: passed, fail: trials - passed, ..Counts::default() };
                let chance = chance_of_at_least(passed, trials, rate) - chance_of_at_least(passed + 1, trials, rate);
                match asked.verdict(&counts, trials, false) {
                    RunVerdict::Pass => pass += chance,
                    RunVerdict::Fail => fail += chance,
                    RunVerdict::Inconclusive => {}
                }
            }
            let found = odds(&one(asked, trials), rate);
            prop_assert!((found.pass - pass).abs() < 1e-9 && (found.fail - fail).abs() < 1e-9, "{:?}, {} {}", found, pass, fail);
        }
    }
}
