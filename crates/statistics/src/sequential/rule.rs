//! A rule that decides about a success rate as soon as the trials allow it.

use super::{
    mixture::{ln_against_at_least, ln_against_at_most},
    ratio::ln_ratio,
};

/// More trials than this are not searched for the least that a rule needs.
const MOST: u64 = 1 << 40;

/// PASS if the rate is shown to be above `bad`, FAIL if it is shown to be below `good`.
///
/// With `bad` below `good`, rates in between are the indifference zone: either verdict is right, and the rule is Wald's. If both are
/// equal, the rule is the mixture's, and at that very rate it usually never decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    bad: f64,
    good: f64,
    false_pass: f64,
    false_fail: f64,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("a rate of {0} cannot be tested: it must lie between 0 and 1, and be neither")]
    Rate(f64),
    #[error("the bad rate {bad} is above the good rate {good}")]
    Order { bad: f64, good: f64 },
    #[error("a chance of {0} for a false verdict is not possible: it must be above 0 and below 0.5")]
    Chance(f64),
}

/// The trials that were consumed. Those that neither passed nor failed could have done either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Seen {
    pub trials: u64,
    pub passes: u64,
    pub failures: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Pass,
    Fail,
}

impl Rule {
    /// `false_pass`: the chance of PASS if the rate is `bad` or less. `false_fail`: that of FAIL if it is `good` or more.
    ///
    /// # Errors
    /// A rate is not between 0 and 1, `bad` is above `good`, or a chance is not between 0 and 0.5.
    pub fn new(bad: f64, good: f64, false_pass: f64, false_fail: f64) -> Result<Self, Error> {
        let open = |rate: &f64| *rate > 0.0 && *rate < 1.0;
        if let Some(rate) = [bad, good].into_iter().find(|rate| !open(rate)) {
            return Err(Error::Rate(rate));
        }
        if bad > good {
            return Err(Error::Order { bad, good });
        }
        let possible = |chance: &f64| *chance > 0.0 && *chance < 0.5;
        if let Some(chance) = [false_pass, false_fail].into_iter().find(|chance| !possible(chance)) {
            return Err(Error::Chance(chance));
        }
        Ok(Self { bad, good, false_pass, false_fail })
    }

    /// The rule for one of several rates, where FAIL for any of them is a FAIL of all. `share`: its part of the chance of a false FAIL.
    #[must_use]
    pub fn with_share_of_false_fail(self, share: f64) -> Self {
        Self { false_fail: self.false_fail * share, ..self }
    }

    #[must_use]
    pub fn bad(&self) -> f64 {
        self.bad
    }

    #[must_use]
    pub fn good(&self) -> f64 {
        self.good
    }

    #[must_use]
    pub fn false_pass(&self) -> f64 {
        self.false_pass
    }

    #[must_use]
    pub fn has_zone(&self) -> bool {
        self.bad < self.good
    }

    /// What the trials show, if they show anything. It may be asked after every trial.
    #[must_use]
    pub fn judge(&self, seen: Seen) -> Option<Found> {
        if self.ln_for_fail(seen) >= -self.false_fail.ln() {
            Some(Found::Fail)
        } else if self.ln_for_pass(seen) >= -self.false_pass.ln() {
            Some(Found::Pass)
        } else {
            None
        }
    }

    /// The natural logarithm of the evidence that the rate is above `bad`. Trials without an outcome count as failures.
    #[must_use]
    pub fn ln_for_pass(&self, seen: Seen) -> f64 {
        let failures = seen.trials - seen.passes;
        if self.has_zone() {
            ln_ratio(self.bad, self.good, seen.passes, failures)
        } else {
            ln_against_at_most(self.bad, seen.passes, failures)
        }
    }

    /// The natural logarithm of the evidence that the rate is below `good`. Trials without an outcome count as passes.
    #[must_use]
    pub fn ln_for_fail(&self, seen: Seen) -> f64 {
        let passes = seen.trials - seen.failures;
        if self.has_zone() {
            -ln_ratio(self.bad, self.good, passes, seen.failures)
        } else {
            ln_against_at_least(self.good, passes, seen.failures)
        }
    }

    /// After how many trials PASS is possible: if all of them pass.
    #[must_use]
    pub fn least_to_pass(&self) -> u64 {
        least(|trials| self.judge(Seen { trials, passes: trials, failures: 0 }) == Some(Found::Pass))
    }

    /// After how many trials FAIL is possible: if all of them fail.
    #[must_use]
    pub fn least_to_fail(&self) -> u64 {
        least(|trials| self.judge(Seen { trials, passes: 0, failures: trials }) == Some(Found::Fail))
    }
}

/// The least number that is enough; more than it are enough too.
fn least(is_enough: impl Fn(u64) -> bool) -> u64 {
    let mut above = 1;
    while above < MOST && !is_enough(above) {
        above *= 2;
    }
    let mut below = above / 2;
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if is_enough(middle) { above = middle } else { below = middle }
    }
    above
}
