//! The difference of two success rates over many cells, its interval, and whether it is within a margin.
//!
//! Each cell counts once: the difference is the mean of the cells' differences. With [`LEAST_CLUSTERS`] scenarios or more, the
//! scenarios are a sample of what the agent is asked, and the interval comes from how much they differ (Student's t).
//! If all scenarios differ equally, nothing is known about how much scenarios differ: the interval is for these only, and comes from the number of
//! trials. With fewer scenarios, it is for these only too, and comes from the trials of each cell: pairs by D. G. Bonett and R. M. Price,
//! "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data", JEBS 37 (2012), others by A. Agresti
//! and B. Caffo, "Simple and effective confidence intervals for proportions", American Statistician 54 (2000).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

/// Fewer scenarios say too little about how much scenarios differ.
pub const LEAST_CLUSTERS: usize = 6;
/// The chance of error of each end of an interval, and of `not worse` and `worse`.
pub const CHANCE: f64 = 0.05;

/// The trials of one cell that both runs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stratum {
    /// Cells of the same scenario have the same number.
    pub scenario: usize,
    pub base_pass: u64,
    /// Those with a result about the agent.
    pub base_trials: u64,
    pub new_pass: u64,
    pub new_trials: u64,
    pub undecided_base: u64,
    pub undecided_new: u64,
    /// If every trial has a partner with its seed: the pairs that fell and that rose.
    pub pairs: Option<(u64, u64)>,
}

/// A difference with its interval: each end is wrong with a chance of [`CHANCE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean success rates of the cells.
    pub base: f64,
    pub new: f64,
    /// `new - base`.
    pub difference: f64,
    pub low: f64,
    pub high: f64,
    pub scenarios: u64,
    /// The interval comes from the differences between scenarios.
    pub clustered: bool,
    /// The end of the interval comes from Student's t.
    by_student: bool,
    error: f64,
}

/// What a difference says about a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// The rate has not fallen by the margin.
    NotWorse,
    /// The rate has fallen, and it is not shown that it fell by less than the margin.
    Worse,
    CannotTell,
}

/// `None` if no cell has a result on both sides.
#[must_use]
pub fn difference(strata: &[Stratum]) -> Option<Difference> {
    let compared: Vec<&Stratum> =
        strata.iter().filter(|stratum| stratum.base_trials > 0 && stratum.new_trials > 0).collect();
    if compared.is_empty() {
        return None;
    }
    let cells = compared.len() as f64;
    let share = |pass: u64, trials: u64| pass as f64 / trials as f64;
    let (mut base, mut new) = (0.0, 0.0);
    let mut scenarios: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for stratum in &compared {
        let (of_base, of_new) =
            (share(stratum.base_pass, stratum.base_trials), share(stratum.new_pass, stratum.new_trials));
        base += of_base;
        new += of_new;
        let (cells, sum) = scenarios.entry(stratum.scenario).or_default();
        *cells += 1.0;
        *sum += of_new - of_base;
    }
    // Divided once, so that a run in which everything passes has a rate of exactly 1.
    let (base, new) = (base / cells, new / cells);
    let difference = new - base;
    let clusters = scenarios.len();
    let by_student = clusters >= LEAST_CLUSTERS;
    // Divisions leave errors of rounding.
    let differ = spread(&scenarios, difference) > 1e-18;
    let clustered = by_student && differ;
    let error = if by_student { between(&scenarios, difference, cells, &compared) } else { inside(&compared, cells) };
    let mut found = Difference {
        base,
        new,
        difference,
        low: -1.0,
        high: 1.0,
        scenarios: clusters as u64,
        clustered,
        by_student,
        error,
    };
    let half = found.reach() * error;
    found.low = (difference - half).max(-1.0);
    found.high = (difference + half).min(1.0);
    Some(found)
}

impl Difference {
    #[must_use]
    pub fn within(&self, margin: f64) -> Within {
        if self.low > -margin {
            Within::NotWorse
        } else if self.high < 0.0 {
            Within::Worse
        } else {
            Within::CannotTell
        }
    }

    /// The rate is higher, and the chance of a difference as large is at most [`CHANCE`]. It asks for more than the end of the interval, because
    /// nothing is lost if a small rise is not named.
    #[must_use]
    pub fn rose(&self) -> bool {
        self.low > 0.0 && self.chance_if_equal() <= CHANCE
    }

    /// The chance, two-sided, of a difference as large if the rates are equal.
    #[must_use]
    pub fn chance_if_equal(&self) -> f64 {
        (2.0 * self.below(-self.difference.abs() / self.error)).min(1.0)
    }

    /// The chance of a rate as high if NEW is worse by the margin.
    #[must_use]
    pub fn chance_if_worse_by(&self, margin: f64) -> f64 {
        self.below(-(self.difference + margin) / self.error)
    }

    /// Differences between scenarios, or between trials, were seen: without any, a small chance would come from the formula alone.
    pub(super) fn knows_spread(&self) -> bool {
        self.clustered || !self.by_student
    }

    /// How many standard errors an end of the interval is away.
    fn reach(&self) -> f64 {
        if self.by_student {
            self.student().inverse_cdf(1.0 - CHANCE)
        } else {
            Normal::standard().inverse_cdf(1.0 - CHANCE)
        }
    }

    fn below(&self, errors: f64) -> f64 {
        if self.by_student { self.student().cdf(errors) } else { Normal::standard().cdf(errors) }
    }

    fn student(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.scenarios as f64 - 1.0).expect("there are at least two scenarios")
    }
}

/// The sum of squares between scenarios.
fn spread(scenarios: &BTreeMap<usize, (f64, f64)>, mean: f64) -> f64 {
    scenarios.values().map(|(cells, sum)| (sum - cells * mean).powi(2)).sum()
}

/// The standard error from the differences between scenarios. Scenarios that all agree do not mean that trials never differ, so one
/// pair that falls and one that rises are added, as in Bonett and Price's interval.
fn between(scenarios: &BTreeMap<usize, (f64, f64)>, mean: f64, cells: f64, compared: &[&Stratum]) -> f64 {
    let clusters = scenarios.len() as f64;
    let squares = spread(scenarios, mean);
    let trials = |of: fn(&Stratum) -> u64| compared.iter().map(|stratum| of(stratum)).sum::<u64>();
    let pairs = trials(|stratum| stratum.base_trials).min(trials(|stratum| stratum.new_trials)) as f64;
    (clusters / (clusters - 1.0) * squares / cells.powi(2) + 2.0 / (pairs + 2.0).powi(2)).sqrt()
}

/// The standard error from the trials of each cell. The intervals of the papers move their centre towards 0 by n / (n + 2), which would
/// hide a fall over many cells of few trials. So the centre stays, and the error grows instead: each interval keeps its chance of
/// error for one cell, and is wider than needed for many small ones.
fn inside(compared: &[&Stratum], cells: f64) -> f64 {
    let variance: f64 = compared.iter().map(|stratum| of_cell(stratum)).sum();
    variance.sqrt() / cells
}

fn of_cell(stratum: &Stratum) -> f64 {
    let grown = |trials: u64| ((trials as f64 + 2.0) / trials as f64).powi(2);
    if let Some((fell, rose)) = stratum.pairs {
        let grown = grown(stratum.base_trials);
        let pairs = stratum.base_trials as f64 + 2.0;
        let (fell, rose) = ((fell as f64 + 1.0) / pairs, (rose as f64 + 1.0) / pairs);
        return grown * (fell + rose - (fell - rose).powi(2)) / pairs;
    }
    let side = |pass: u64, trials: u64| {
        let grown = grown(trials);
        let trials = trials as f64 + 2.0;
        let share = (pass as f64 + 1.0) / trials;
        grown * share * (1.0 - share) / trials
    };
    side(stratum.base_pass, stratum.base_trials) + side(stratum.new_pass, stratum.new_trials)
}

impl Stratum {
    /// Every undecided trial of BASE passes, and every one of NEW fails.
    #[must_use]
    pub fn worst_of_new(&self) -> Self {
        self.decided(self.undecided_base, 0)
    }

    /// Every undecided trial of BASE fails, and every one of NEW passes.
    #[must_use]
    pub fn best_of_new(&self) -> Self {
        self.decided(0, self.undecided_new)
    }

    fn decided(&self, base: u64, new: u64) -> Self {
        Self {
            scenario: self.scenario,
            base_pass: self.base_pass + base,
            base_trials: self.base_trials + self.undecided_base,
            new_pass: self.new_pass + new,
            new_trials: self.new_trials + self.undecided_new,
            undecided_base: 0,
            undecided_new: 0,
            pairs: self.pairs.filter(|_| self.undecided_base + self.undecided_new == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{close, reference};

    fn stratum(scenario: usize, base: (u64, u64), new: (u64, u64)) -> Stratum {
        Stratum {
            scenario,
            base_pass: base.0,
            base_trials: base.1,
            new_pass: new.0,
            new_trials: new.1,
            ..Stratum::default()
        }
    }

    #[test]
    fn a_run_in_which_everything_passes_has_a_rate_of_1() {
        let strata: Vec<Stratum> = (0..6).map(|scenario| stratum(scenario, (58, 60), (2, 2))).collect();
        assert_eq!(difference(&strata).unwrap().new, 1.0);
    }

    #[test]
    fn intervals_and_chances_are_those_of_scipy() {
        for row in reference()["rates"].as_array().unwrap() {
            let strata: Vec<Stratum> = row["cells"]
                .as_array()
                .unwrap()
                .iter()
                .map(|cell| {
                    let of = |at: usize| cell[at].as_u64().unwrap();
                    let pairs = cell.get(5).map(|_| (of(5), of(6)));
                    Stratum { pairs, ..stratum(of(0) as usize, (of(1), of(2)), (of(3), of(4))) }
                })
                .collect();
            let found = difference(&strata).unwrap();
            let right = |name: &str| row[name].as_f64().unwrap();
            close(found.difference, right("difference"), 1e-9, row);
            close(found.low, right("low"), 1e-6, row);
            close(found.high, right("high"), 1e-6, row);
            close(found.chance_if_equal(), right("chance_if_equal"), 1e-6, row);
            close(found.chance_if_worse_by(0.03), right("chance_if_worse_by_3_points"), 1e-6, row);
        }
    }

    #[test]
    fn a_margin_is_kept_missed_or_open() {
        let of = |base, new, trials| {
            let strata: Vec<Stratum> =
                (0..30).map(|scenario| stratum(scenario, (base, trials), (new, trials))).collect();
            difference(&strata).unwrap().within(0.03)
        };
        assert_eq!(
            (of(20, 20, 20), of(20, 12, 20), of(1, 1, 1)),
            (Within::NotWorse, Within::Worse, Within::CannotTell)
        );
    }

    #[test]
    fn trials_that_all_agree_do_not_make_an_interval_of_width_zero() {
        let few = difference(&[stratum(0, (5, 5), (5, 5))]).unwrap();
        let many: Vec<Stratum> = (0..40).map(|scenario| stratum(scenario, (20, 20), (20, 20))).collect();
        let many = difference(&many).unwrap();
        assert_eq!((few.difference, few.clustered, many.clustered), (0.0, false, false));
        assert!(few.low < -0.25 && (-0.01..0.0).contains(&many.low), "{few:?} {many:?}");
    }

    #[test]
    fn a_cell_without_results_on_one_side_is_left_out() {
        assert_eq!(difference(&[stratum(0, (0, 0), (5, 5))]), None);
        let found = difference(&[stratum(0, (0, 0), (5, 5)), stratum(1, (4, 8), (8, 8))]).unwrap();
        assert_eq!((found.base, found.new, found.scenarios), (0.5, 1.0, 1));
    }
}
