//! How often a comparison finds a fall: the power of the test of [`rate`](super::rate), before anything is played.
//!
//! Two runs play the same cells with the same number of repeats, and in the second one every cell passes less often, each by the same
//! share of its rate, so that the mean falls by what is asked. [`rate::difference`](super::rate::difference) then says `worse` if its whole
//! interval is below 0 and its lower end at or below the margin. The chance of that comes from three variances:
//!
//! - of the difference itself: chance of the trials, of nights that differ for single scenarios, and of nights that differ for all,
//! - of the interval, as the test expects to see it: without the last of these,
//! - of the test's own estimate of it, a χ² with Satterthwaite's degrees of freedom (F. E. Satterthwaite, "An approximate distribution of
//!   estimates of variance components", Biometrics Bulletin 2 (1946)).

use std::collections::BTreeMap;

use statrs::distribution::{ChiSquared, ContinuousCDF as _, Normal, StudentsT};

use super::rate::{CHANCE, LEAST_CLUSTERS};

/// The estimate of the variance is followed at so many equally likely values.
const VALUES: u32 = 64;
/// Differences are found to this precision.
const PRECISION: f64 = 1e-5;

/// A cell that both runs play.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Cells of the same scenario have the same number.
    pub scenario: usize,
    /// Its success rate.
    pub rate: f64,
}

/// How much nights differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Nights {
    /// Of trials of a cell in one night: [`night_correlation`](crate::ledger::night_correlation).
    pub correlation: f64,
    /// The variance, from night to night, that all cells share. At most what the correlation explains.
    pub common: f64,
}

/// What is compared, and by which test.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    cells: Vec<Expected>,
    nights: Nights,
    /// By how much the success rate may fall.
    margin: f64,
    scenarios: usize,
    mean: f64,
}

impl Design {
    /// `None` without a cell that passes now and then.
    #[must_use]
    pub fn new(cells: Vec<Expected>, nights: Nights, margin: f64) -> Option<Self> {
        let scenarios = by_scenario(&cells, |_| 1.0).len();
        let mean = cells.iter().map(|cell| cell.rate).sum::<f64>() / cells.len() as f64;
        (mean > 0.0).then_some(Self { cells, nights, margin, scenarios, mean })
    }

    /// The mean success rate of the cells.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    #[must_use]
    pub fn scenarios(&self) -> usize {
        self.scenarios
    }

    /// Whether the interval comes from the differences between scenarios.
    #[must_use]
    pub fn clustered(&self) -> bool {
        self.scenarios >= LEAST_CLUSTERS
    }

    /// The chance that the comparison says `worse` if the mean success rate falls by so much.
    #[must_use]
    pub fn power(&self, repeats: u32, fall: f64) -> f64 {
        let fall = fall.min(self.mean);
        let seen = self.seen(repeats, fall);
        let spread = (seen.variance + 2.0 * self.common()).sqrt();
        let normal = Normal::standard();
        let chance = |error: f64| {
            let half = seen.reach * error;
            let highest = (-half).min(half - self.margin);
            normal.cdf((highest + fall) / spread)
        };
        match seen.freedom.and_then(|freedom| ChiSquared::new(freedom).ok().map(|law| (freedom, law))) {
            None => chance((seen.estimate + seen.besides).sqrt()),
            Some((freedom, law)) => {
                let share = |place: u32| law.inverse_cdf((f64::from(place) + 0.5) / f64::from(VALUES)) / freedom;
                let errors = (0..VALUES).map(|place| (seen.estimate * share(place) + seen.besides).sqrt());
                errors.map(chance).sum::<f64>() / f64::from(VALUES)
            }
        }
    }

    /// The fewest repeats, at most `most`, with which a fall is found with this chance.
    #[must_use]
    pub fn least_repeats(&self, fall: f64, power: f64, most: u32) -> Option<u32> {
        let enough = |repeats: u32| self.power(repeats, fall) >= power;
        let mut high = 1;
        while !enough(high) {
            if high >= most {
                return None;
            }
            high = high.saturating_mul(2).min(most);
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// The smallest fall that is found with this chance; `None` if none is, however large.
    #[must_use]
    pub fn least_fall(&self, repeats: u32, power: f64) -> Option<f64> {
        let (mut low, mut high) = (0.0, self.mean);
        if self.power(repeats, high) < power {
            return None;
        }
        while high - low > PRECISION {
            let middle = f64::midpoint(low, high);
            if self.power(repeats, middle) >= power { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The variance that all cells share in a night, at most what the correlation explains on average.
    fn common(&self) -> f64 {
        let explained = self.cells.iter().map(|cell| self.nights.correlation * chance_variance(cell.rate)).sum::<f64>();
        self.nights.common.min(explained / self.cells.len() as f64)
    }

    fn seen(&self, repeats: u32, fall: f64) -> Seen {
        let after = |rate: f64| rate * (1.0 - fall / self.mean);
        let common = self.common();
        let trials = f64::from(repeats);
        let of_trials = |cell: &Expected| {
            let both = chance_variance(cell.rate) + chance_variance(after(cell.rate));
            both * (1.0 - self.nights.correlation) / trials
        };
        // The rest of the nights' variance moves the cells of a scenario together.
        let of_nights = |rate: f64| (self.nights.correlation * chance_variance(rate) - common).max(0.0).sqrt();
        let chance = by_scenario(&self.cells, of_trials);
        let before = by_scenario(&self.cells, |cell| of_nights(cell.rate));
        let then = by_scenario(&self.cells, |cell| of_nights(after(cell.rate)));
        let variances: BTreeMap<usize, f64> = chance
            .iter()
            .map(|(scenario, variance)| (*scenario, variance + before[scenario].powi(2) + then[scenario].powi(2)))
            .collect();
        let number = self.cells.len() as f64;
        let sum: f64 = variances.values().sum();
        let variance = sum / number.powi(2);
        if !self.clustered() {
            return Seen {
                variance,
                estimate: self.inside(repeats, after),
                besides: 0.0,
                freedom: None,
                reach: normal_reach(),
            };
        }
        let scenarios = self.scenarios as f64;
        let sizes = by_scenario(&self.cells, |_| 1.0);
        let grown = scenarios / (scenarios - 1.0) / number.powi(2);
        let squares: f64 = sizes.values().map(|size| size * size).sum();
        let shared: f64 = sizes.iter().map(|(scenario, size)| size * variances[scenario]).sum();
        let falls = by_scenario(&self.cells, |cell| cell.rate - after(cell.rate));
        let uneven: f64 = falls.iter().map(|(scenario, sum)| (sum - sizes[scenario] * fall).powi(2)).sum();
        let pairs = number * trials;
        let fourth: f64 = variances.values().map(|variance| variance * variance).sum();
        let freedom = if fourth > 0.0 { (sum * sum / fourth).min(scenarios - 1.0) } else { scenarios - 1.0 };
        Seen {
            variance,
            estimate: grown * (sum + variance * squares - 2.0 * shared / number),
            besides: grown * uneven + 2.0 / (pairs + 2.0).powi(2),
            freedom: Some(freedom),
            reach: student_reach(scenarios - 1.0),
        }
    }

    /// The variance that the test expects from the trials of each cell, as pairs that agree no more than by chance.
    fn inside(&self, repeats: u32, after: impl Fn(f64) -> f64) -> f64 {
        let n = f64::from(repeats);
        let grown = ((n + 2.0) / n).powi(2);
        let of_cell = |cell: &Expected| {
            let (before, after) = (cell.rate, after(cell.rate));
            let changed = before * (1.0 - after) + after * (1.0 - before);
            let moved = (before - after).powi(2);
            let pairs = n + 2.0;
            let shares = (n * changed + 2.0) / pairs;
            let square = (n * (changed - moved) + (n * n) * moved) / pairs.powi(2);
            grown * (shares - square) / pairs
        };
        self.cells.iter().map(of_cell).sum::<f64>() / (self.cells.len() as f64).powi(2)
    }
}

/// What the test sees.
#[derive(Debug)]
struct Seen {
    /// Of the difference, without what all cells share.
    variance: f64,
    /// Of the difference as the test estimates it, on average.
    estimate: f64,
    /// What the test adds to its estimate whatever the trials say.
    besides: f64,
    /// Of the estimate; `None`: it hardly varies.
    freedom: Option<f64>,
    /// How many standard errors an end of the interval is away.
    reach: f64,
}

fn chance_variance(rate: f64) -> f64 {
    rate * (1.0 - rate)
}

fn normal_reach() -> f64 {
    Normal::standard().inverse_cdf(1.0 - CHANCE)
}

fn student_reach(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or_else(|_| normal_reach(), |law| law.inverse_cdf(1.0 - CHANCE))
}

/// The sum over the cells of each scenario.
fn by_scenario(cells: &[Expected], of: impl Fn(&Expected) -> f64) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for cell in cells {
        *sums.entry(cell.scenario).or_default() += of(cell);
    }
    sums
}

#[cfg(test)]
mod tests;
