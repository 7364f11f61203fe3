//! The likelihood of a good rate against that of a bad one: the statistic of Wald's sequential test.
//!
//! A. Wald, "Sequential tests of statistical hypotheses", Ann. Math. Stat. 16 (1945). Wald's limits (1 − β)/α and β/(1 − α) keep the
//! sum of both errors only. The rules of gabfest use 1/β for PASS and 1/α for FAIL, which keep each of them: if the rate is
//! at most the bad one, the ratio is a supermartingale, and its inverse is one if the rate is at least the good one.

/// The natural logarithm of the likelihood of `good` divided by that of `bad`, both between 0 and 1.
#[must_use]
pub fn ln_ratio(bad: f64, good: f64, passes: u64, failures: u64) -> f64 {
    passes as f64 * (good.ln() - bad.ln()) + failures as f64 * ((-good).ln_1p() - (-bad).ln_1p())
}
