//! The bounds of a success rate: Clopper and Pearson's exact limits.
//!
//! C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
//! Biometrika 26 (1934). The bounds are exact: with a confidence of 95 %, each is wrong in at most one of twenty samples.

use statrs::function::beta::{beta_reg, inv_beta_reg};

/// The confidence of [`upper_bound`].
const CONFIDENCE: f64 = 0.95;

/// The one-sided 95 % upper bound of a success rate after `pass` of `n` trials; 1 without trials.
#[must_use]
pub fn upper_bound(pass: u64, n: u64) -> f64 {
    upper_bound_at(pass, n, CONFIDENCE)
}

/// The one-sided upper bound with this confidence, a share below 1.
#[must_use]
pub fn upper_bound_at(pass: u64, n: u64, confidence: f64) -> f64 {
    if pass >= n { 1.0 } else { inv_beta_reg(pass as f64 + 1.0, (n - pass) as f64, confidence) }
}

/// The one-sided lower bound with this confidence, a share below 1; 0 without trials.
#[must_use]
pub fn lower_bound_at(pass: u64, n: u64, confidence: f64) -> f64 {
    let pass = pass.min(n);
    if pass == 0 { 0.0 } else { inv_beta_reg(pass as f64, (n - pass) as f64 + 1.0, 1.0 - confidence) }
}

/// The chance of at least `pass` passes in `n` independent trials that each pass with the chance `rate`.
#[must_use]
pub fn chance_of_at_least(pass: u64, n: u64, rate: f64) -> f64 {
    let rate = rate.clamp(0.0, 1.0);
    match pass {
        0 => 1.0,
        pass if pass > n || rate == 0.0 => 0.0,
        _ if rate == 1.0 => 1.0,
        pass => beta_reg(pass as f64, (n - pass) as f64 + 1.0, rate),
    }
}

/// Whether the lower bound reaches `least`: if the rate were lower, so many passes would come in at most `1 - confidence` of samples.
#[must_use]
pub fn shows_at_least(pass: u64, n: u64, least: f64, confidence: f64) -> bool {
    least <= 0.0 || (pass as f64 >= least * n as f64 && chance_of_at_least(pass, n, least) <= 1.0 - confidence)
}

/// Whether the upper bound is below `least`.
#[must_use]
pub fn shows_less(pass: u64, n: u64, least: f64, confidence: f64) -> bool {
    // The estimate is a cheap first test: the bound is never below it.
    (pass as f64) < least * n as f64 && 1.0 - chance_of_at_least(pass + 1, n, least) < 1.0 - confidence
}

/// The fewest trials whose passes, without a failure, show `least`; `None` for 1, which no number of trials shows.
#[must_use]
pub fn fewest_trials(least: f64, confidence: f64) -> Option<u64> {
    if least <= 0.0 {
        return Some(0);
    }
    if least >= 1.0 {
        return None;
    }
    // least^n <= 1 - confidence.
    let estimate = ((1.0 - confidence).ln() / least.ln()).ceil().max(1.0) as u64;
    let near = estimate.saturating_sub(2).max(1)..=estimate.saturating_add(2);
    near.into_iter().find(|trials| shows_at_least(*trials, *trials, least, confidence)).or(Some(estimate))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{number, rows, whole};

    #[test]
    fn the_bounds_are_those_of_scipy() {
        for row in rows("bounds") {
            let (pass, n, confidence) = (whole(&row[0]), whole(&row[1]), number(&row[2]));
            let (low, high) = (lower_bound_at(pass, n, confidence), upper_bound_at(pass, n, confidence));
            assert!(
                (low - number(&row[3])).abs() < 1e-9 && (high - number(&row[4])).abs() < 1e-9,
                "{row}: {low} {high}"
            );
        }
    }

    #[test]
    fn the_bound_is_the_published_one() {
        // 0 of n is 1 - 0.05^(1/n); the others are of tables of binomial confidence limits, and of R's qbeta.
        let rows = [
            (0, 1, 0.95),
            (0, 5, 0.450_720),
            (0, 20, 0.139_108),
            (0, 100, 0.029_513),
            (1, 10, 0.394_163),
            (5, 10, 0.777_559),
            (19, 20, 0.997_439),
            (20, 20, 1.0),
            (0, 0, 1.0),
        ];
        for (pass, n, right) in rows {
            let found = upper_bound(pass, n);
            assert!((found - right).abs() < 2e-6, "{pass} of {n}: {found} instead of {right}");
        }
    }

    #[test]
    fn the_lower_bound_is_the_published_one() {
        // n of n is 0.05^(1/n); the others are those of R's qbeta(0.05, pass, n - pass + 1).
        let rows = [
            (0, 5, 0.95, 0.0),
            (5, 5, 0.95, 0.549_280),
            (20, 20, 0.95, 0.860_892),
            (59, 59, 0.95, 0.950_492),
            (9, 10, 0.95, 0.605_837),
            (5, 10, 0.95, 0.222_441),
            (19, 20, 0.9, 0.819_039),
            (0, 0, 0.95, 0.0),
        ];
        for (pass, n, confidence, right) in rows {
            let found = lower_bound_at(pass, n, confidence);
            assert!((found - right).abs() < 2e-6, "{pass} of {n}: {found} instead of {right}");
        }
    }

    #[test]
    fn so_many_trials_without_a_failure_show_a_rate() {
        let rows =
            [(0.95, 0.95, 59), (0.99, 0.95, 299), (0.9, 0.95, 29), (0.95, 0.9, 45), (0.5, 0.5, 1), (0.0, 0.95, 0)];
        for (least, confidence, trials) in rows {
            assert_eq!(fewest_trials(least, confidence), Some(trials), "{least} with {confidence}");
            if trials > 0 {
                assert!(shows_at_least(trials, trials, least, confidence));
                assert!(!shows_at_least(trials - 1, trials - 1, least, confidence));
            }
        }
        assert_eq!(fewest_trials(1.0, 0.95), None);
        assert!(!shows_at_least(0, 0, 0.5, 0.95) && !shows_less(0, 0, 0.5, 0.95), "nothing is known");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_the_bounds_say(n in 1_u64..5_000, share in 0.0_f64..=1.0, least in 0.01_f64..0.99, confidence in 0.6_f64..0.999) {
            let pass = ((n as f64) * share) as u64;
            let (low, high) = (lower_bound_at(pass, n, confidence), upper_bound_at(pass, n, confidence));
            prop_assume!((low - least).abs() > 1e-5 && (high - least).abs() > 1e-5);
            prop_assert_eq!(shows_at_least(pass, n, least, confidence), low >= least, "low {}", low);
            prop_assert_eq!(shows_less(pass, n, least, confidence), high < least, "high {}", high);
        }

        #[test]
        fn at_the_bound_so_few_passes_have_one_chance_in_twenty(n in 1_u64..20_000, share in 0.0_f64..1.0) {
            let pass = ((n as f64) * share) as u64;
            prop_assume!(pass < n);
            let bound = upper_bound(pass, n);
            prop_assert!(pass as f64 / (n as f64) < bound && bound < 1.0);
            let chance = 1.0 - beta_reg(pass as f64 + 1.0, (n - pass) as f64, bound);
            prop_assert!((chance - 0.05).abs() < 1e-6, "{} of {}: {}", pass, n, chance);
            prop_assert!(upper_bound(pass, n + 1) <= bound && upper_bound(pass + 1, n) >= bound);
        }
    }
}
