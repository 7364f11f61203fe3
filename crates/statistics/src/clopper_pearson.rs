//! The upper bound of a success rate: Clopper and Pearson's exact limit.
//!
//! C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
//! Biometrika 26 (1934). The bound is exact: it is never too low for more than one case in twenty.

use statrs::function::beta::inv_beta_reg;

/// The confidence of [`upper_bound`].
const CONFIDENCE: f64 = 0.95;

/// The one-sided 95 % upper bound of a success rate after `pass` of `n` trials; 1 without trials.
#[must_use]
pub fn upper_bound(pass: u64, n: u64) -> f64 {
    if pass >= n { 1.0 } else { inv_beta_reg(pass as f64 + 1.0, (n - pass) as f64, CONFIDENCE) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::function::beta::beta_reg;

    use super::*;

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

    proptest! {
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
