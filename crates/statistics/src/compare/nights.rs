//! Whether a difference between two runs is larger than those from one night to the next.
//!
//! Two runs alone cannot tell a change of the agent from a bad night of its provider. The history can: the success rates of
//! consecutive nights differ by chance, and by how much nights differ. The mean square of these successive differences (J. von
//! Neumann, R. H. Kent, H. R. Bellinson and B. I. Hart, "The mean square successive difference", Ann. Math. Stat. 12 (1941)) is
//! the variance of a difference between two nights in which the agent did not change. Successive differences share a night, so m of them
//! count as 2m/3 in Student's t.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::{
    found::RateFound,
    rate::{self, CHANCE, Stratum},
};
use crate::nights::{Night, NightCell};

/// Fewer differences say too little about how much nights differ.
pub const LEAST_DIFFERENCES: usize = 6;
/// The normal 95 % point. The ends of intervals by Student's t are further away, so their error is rather too large.
const REACH: f64 = 1.644_853_626_951_472_2;

/// What the history says about a difference of success rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NightsFound {
    /// Differences between consecutive nights.
    pub differences: u64,
    /// Their root mean square: by so much the success rate differs from one night to the next.
    pub usual: f64,
    /// The chance, two-sided, of a difference as large as that of the two runs if only the nights differ.
    pub chance: f64,
    /// The difference is larger than those of nights, at 1 in 20.
    pub beyond: bool,
}

impl NightsFound {
    /// `None` with too few differences, or if the runs have no difference.
    #[must_use]
    pub fn of(differences: &[f64], rate: &RateFound) -> Option<Self> {
        let (difference, low, high) = (rate.difference?, rate.low?, rate.high?);
        if differences.len() < LEAST_DIFFERENCES {
            return None;
        }
        let number = differences.len() as f64;
        let square = differences.iter().map(|one| one * one).sum::<f64>() / number;
        // Two runs with fewer trials than the nights differ by more.
        let error = (difference - low).max(high - difference) / REACH;
        let scale = square.max(error * error).sqrt();
        let law = StudentsT::new(0.0, 1.0, 2.0 * number / 3.0).ok()?;
        let chance = if difference == 0.0 { 1.0 } else { (2.0 * law.cdf(-difference.abs() / scale)).min(1.0) };
        Some(Self { differences: differences.len() as u64, usual: square.sqrt(), chance, beyond: chance <= CHANCE })
    }
}

/// The differences of the success rates of consecutive nights, the earliest first, over the cells that both have with the same scenario
/// and persona. Nights without such a cell have none.
#[must_use]
pub fn differences(nights: &[&Night]) -> Vec<f64> {
    let pairs = nights.windows(2).filter_map(|pair| rate::difference(&strata(pair[0], pair[1])));
    pairs.map(|found| found.difference).collect()
}

fn strata(before: &Night, after: &Night) -> Vec<Stratum> {
    // A comparison leaves out what is in quarantine too.
    let counts = |cell: &&NightCell| cell.quarantine.is_none();
    let key = |cell: &NightCell| (cell.cell.clone(), cell.agent.clone(), cell.content.clone());
    let known: BTreeMap<_, &NightCell> = before.cells.iter().filter(counts).map(|cell| (key(cell), cell)).collect();
    let mut scenarios: BTreeMap<&str, usize> = BTreeMap::new();
    let mut strata = Vec::new();
    for cell in after.cells.iter().filter(counts) {
        let next = scenarios.len();
        let scenario = *scenarios.entry(&cell.cell.scenario).or_insert(next);
        if let Some(base) = known.get(&key(cell)) {
            strata.push(Stratum {
                scenario,
                base_pass: base.passed,
                base_trials: base.trials(),
                new_pass: cell.passed,
                new_trials: cell.trials(),
                ..Stratum::default()
            });
        }
    }
    strata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::rate::Within,
        reference::{number, rows},
    };

    fn rate(difference: f64, half: f64) -> RateFound {
        RateFound {
            margin: 0.03,
            within: Within::CannotTell,
            rose: false,
            cells: 2,
            quarantined: 0,
            scenarios: 2,
            clustered: false,
            base_pass: 0,
            base_trials: 0,
            new_pass: 0,
            new_trials: 0,
            base_undecided: 0,
            new_undecided: 0,
            least_difference: None,
            most_difference: None,
            decided_by_undecided: false,
            base_rate: Some(0.9),
            new_rate: Some(0.9 + difference),
            difference: Some(difference),
            low: Some(difference - half),
            high: Some(difference + half),
            chance_if_equal: None,
            chance_if_worse_by_margin: None,
        }
    }

    #[test]
    fn a_difference_as_large_as_those_of_nights_may_be_the_night() {
        let nights = [0.04, -0.05, 0.03, -0.04, 0.05, -0.03, 0.04, -0.05, 0.02];
        let of = |difference| NightsFound::of(&nights, &rate(difference, 0.02)).unwrap();
        assert!(!of(-0.08).beyond && of(-0.3).beyond, "{:?} {:?}", of(-0.08), of(-0.3));
        assert!((of(-0.3).usual - (0.0145_f64 / 9.0).sqrt()).abs() < 1e-12, "{:?}", of(-0.3));
        // Two small runs differ by more than the nights.
        assert!(!NightsFound::of(&nights, &rate(-0.3, 0.5)).unwrap().beyond);
        assert_eq!(NightsFound::of(&nights[..5], &rate(-0.3, 0.02)), None);
        assert_eq!(of(0.0).chance, 1.0);
    }

    #[test]
    fn the_chance_is_that_of_scipy() {
        for row in rows("nights") {
            let differences: Vec<f64> = row[0].as_array().unwrap().iter().map(number).collect();
            let found = NightsFound::of(&differences, &rate(number(&row[1]), REACH * number(&row[2]))).unwrap();
            assert!(
                (found.usual - number(&row[3])).abs() < 1e-12 && (found.chance - number(&row[4])).abs() < 1e-9,
                "{row}: {found:?}"
            );
        }
    }

    /// Nights with planted effects and an agent that does not change: at most 1 in 20 differences is beyond.
    #[test]
    fn nights_alone_are_beyond_in_at_most_one_of_twenty() {
        let mut state = 11_u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut beyond = 0;
        for _ in 0..2_000 {
            // A sum of twelve draws is nearly normal, and ten points of standard deviation are a bad provider.
            let effects: Vec<f64> = (0..12).map(|_| 0.1 * ((0..12).map(|_| chance()).sum::<f64>() - 6.0)).collect();
            let all: Vec<f64> = effects.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (now, before) = all.split_last().unwrap();
            beyond += u32::from(NightsFound::of(before, &rate(*now, 0.02)).unwrap().beyond);
        }
        assert!(beyond <= 130, "{beyond} of 2,000");
    }
}
