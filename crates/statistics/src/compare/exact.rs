//! Exact tests of two success rates: the sign test of pairs, and Fisher's test where trials are not paired.
//!
//! Both hold at any number of trials. Q. McNemar, "Note on the sampling error of the difference between correlated proportions",
//! Psychometrika 12 (1947); R. A. Fisher, "The Design of Experiments" (1935).

use statrs::function::factorial::ln_factorial;

/// Tables that are as likely as the found one, but for rounding, count as such. As R and SciPy do.
const ALIKE: f64 = 1.0 + 1e-7;

/// The chance that pairs which changed one way or the other by chance split at least as unevenly, either way. `fell`: pairs
/// that passed and then failed; `rose`: the reverse. Pairs that did not change say nothing.
#[must_use]
pub fn sign_test(fell: u64, rose: u64) -> f64 {
    let changed = fell + rose;
    let fewer = fell.min(rose);
    if fewer * 2 >= changed {
        return 1.0;
    }
    let all = -(changed as f64) * std::f64::consts::LN_2;
    let tail: f64 = (0..=fewer).map(|number| (ln_choose(changed, number) + all).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// The chance of a table as unlikely as this one, if both sides have the same success rate: Fisher's exact test, two-sided
/// by the likelihood of tables.
#[must_use]
pub fn fisher(base_pass: u64, base_trials: u64, new_pass: u64, new_trials: u64) -> f64 {
    let (pass, all) = (base_pass + new_pass, base_trials + new_trials);
    let ln_all = ln_choose(all, pass);
    let likelihood = |base: u64| (ln_choose(base_trials, base) + ln_choose(new_trials, pass - base) - ln_all).exp();
    let found = likelihood(base_pass) * ALIKE;
    let (least, most) = (pass.saturating_sub(new_trials), pass.min(base_trials));
    let chance: f64 = (least..=most).map(likelihood).filter(|one| *one <= found).sum();
    chance.min(1.0)
}

fn ln_choose(n: u64, k: u64) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::tests::{close, reference};

    #[test]
    fn the_tests_give_the_values_of_scipy() {
        let reference = reference();
        for row in reference["fisher"].as_array().unwrap() {
            let of = |at: usize| row[at].as_u64().unwrap();
            close(fisher(of(0), of(1), of(2), of(3)), row[4].as_f64().unwrap(), 1e-9, row);
        }
        for row in reference["sign_test"].as_array().unwrap() {
            let of = |at: usize| row[at].as_u64().unwrap();
            close(sign_test(of(0), of(1)), row[2].as_f64().unwrap(), 1e-9, row);
        }
    }

    #[test]
    fn without_trials_or_changes_nothing_is_unlikely() {
        assert_eq!((fisher(0, 0, 0, 0), fisher(1, 1, 0, 1), sign_test(0, 0), sign_test(3, 3)), (1.0, 1.0, 1.0, 1.0));
    }

    proptest! {
        #[test]
        fn exchanged_sides_and_outcomes_give_the_same_chance(a in 0_u64..40, b in 0_u64..40, c in 0_u64..40, d in 0_u64..40) {
            let chance = fisher(a, a + b, c, c + d);
            prop_assert!((0.0..=1.0).contains(&chance));
            prop_assert!((chance - fisher(c, c + d, a, a + b)).abs() < 1e-9);
            prop_assert!((chance - fisher(b, a + b, d, c + d)).abs() < 1e-9);
            prop_assert_eq!(sign_test(a, b), sign_test(b, a));
        }
    }
}
