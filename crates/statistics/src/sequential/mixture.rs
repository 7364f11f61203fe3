//! Evidence against a bound of a success rate: the likelihood of all rates beyond the bound, against that of the bound.
//!
//! After s passes and f failures the evidence against "the rate is at least b" is
//!
//! ```text
//! E = 1/b · ∫₀ᵇ qˢ (1 − q)ᶠ dq / (bˢ (1 − b)ᶠ) = B(s + 1, f + 1) · I_b(s + 1, f + 1) / (bˢ⁺¹ (1 − b)ᶠ)
//! ```
//!
//! with the beta function B and the regularised incomplete beta function I. If the rate is at least b, the expectation of E never
//! grows from one trial to the next. So the chance that E ever reaches 1/α is at most α (J. Ville, "Étude critique de la notion de collectif",
//! 1939). The same holds for cases of different rates, if E is read after whole rounds of all cases and b bounds their mean:
//! the factors of a round average 1 + (p − b)(q − b)/(b(1 − b)), and their product is largest if all rates are equal.

use statrs::function::beta::{beta_reg, ln_beta};

/// The natural logarithm of the evidence against "the success rate is at least `bound`". `bound` lies between 0 and 1.
#[must_use]
pub fn ln_against_at_least(bound: f64, passes: u64, failures: u64) -> f64 {
    let (a, b) = (passes as f64 + 1.0, failures as f64 + 1.0);
    ln_beta(a, b) + beta_reg(a, b, bound).ln() - a * bound.ln() - (b - 1.0) * (-bound).ln_1p()
}

/// The natural logarithm of the evidence against "the success rate is at most `bound`". `bound` lies between 0 and 1.
#[must_use]
pub fn ln_against_at_most(bound: f64, passes: u64, failures: u64) -> f64 {
    ln_against_at_least(1.0 - bound, failures, passes)
}
