//! What the repeats of one case say about flakiness: is the case flaky, and how likely are k passes in a row?

use record::tally::Counts;

/// Estimates beyond this many repeats in a row are not shown.
pub const MOST_REPEATS: u64 = 10;

/// Passed at least once and failed at least once; an error that is the agent's fault counts as failed, and so does an attempt
/// that somebody had played again.
#[must_use]
pub fn is_flaky(counts: &Counts) -> bool {
    counts.replayed_failures > 0 || (counts.pass > 0 && counts.held_against_agent() > 0)
}

/// pass^k for k = 1 to n (at most 10): the chance that k trials in a row all pass, estimated without bias from
/// the passes among the n trials of the success rate as C(pass, k) / C(n, k).
///
/// The plug-in (pass/n)^k is biased upwards: .585 instead of .512 at p = .8, n = 5, k = 3.
#[must_use]
pub fn pass_hat_k(counts: &Counts) -> Vec<f64> {
    let (pass, n) = (counts.pass, counts.conclusive());
    let mut estimate = 1.0;
    (0..n.min(MOST_REPEATS))
        .map(|drawn| {
            estimate *= pass.saturating_sub(drawn) as f64 / (n - drawn) as f64;
            estimate
        })
        .collect()
}

/// The k that pages show for every case, unless the plan says one: the smallest number of repeats, at most 8.
#[must_use]
pub fn usual_k(repeats: impl IntoIterator<Item = u64>) -> u32 {
    const MOST: u64 = 8;
    repeats.into_iter().min().unwrap_or(1).clamp(1, MOST) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pass_hat_k(pass: u64, n: u64) -> Vec<f64> {
        super::pass_hat_k(&Counts { pass, fail: n - pass, ..Counts::default() })
    }

    #[test]
    fn one_k_suits_all_cases() {
        assert_eq!([usual_k([20, 5, 9]), usual_k([20]), usual_k([]), usual_k([0])], [5, 8, 1, 1]);
    }

    #[test]
    fn an_error_of_the_agent_ends_a_row_of_passes() {
        let counts = Counts { pass: 2, error: 3, agent_errors: 1, ..Counts::default() };
        assert_eq!(super::pass_hat_k(&counts).len(), 3);
        assert_eq!(super::pass_hat_k(&counts)[2], 0.0);
    }

    #[test]
    fn a_case_is_flaky_when_it_went_both_ways() {
        let rows = [
            (Counts { pass: 1, fail: 1, ..Counts::default() }, true),
            (Counts { pass: 1, error: 1, agent_errors: 1, ..Counts::default() }, true),
            (Counts { pass: 1, error: 1, ..Counts::default() }, false),
            (Counts { pass: 1, inconclusive: 3, ..Counts::default() }, false),
            (Counts { fail: 1, replayed_failures: 1, ..Counts::default() }, true),
            (Counts { pass: 5, ..Counts::default() }, false),
            (Counts { fail: 5, ..Counts::default() }, false),
            (Counts::default(), false),
        ];
        for (counts, flaky) in rows {
            assert_eq!(is_flaky(&counts), flaky, "{counts:?}");
        }
    }

    #[test]
    fn estimates_are_ratios_of_binomial_coefficients() {
        assert_eq!(pass_hat_k(0, 0), Vec::<f64>::new());
        assert_eq!(pass_hat_k(1, 1), vec![1.0]);
        assert_eq!(pass_hat_k(0, 2), vec![0.0, 0.0]);
        // 4 of 5: 4/5, 6/10, 4/10, 1/5, 0.
        for (found, right) in pass_hat_k(4, 5).into_iter().zip([0.8, 0.6, 0.4, 0.2, 0.0]) {
            assert!((found - right).abs() < 1e-12);
        }
        assert_eq!(pass_hat_k(100, 100).len(), 10);
    }

    proptest! {
        /// Every way to draw k of n trials, counted by hand.
        #[test]
        fn estimates_are_the_share_of_draws_that_all_pass(outcomes in proptest::collection::vec(any::<bool>(), 1..11)) {
            let n = outcomes.len();
            let pass = outcomes.iter().filter(|passed| **passed).count();
            let mut draws = vec![0_u32; n + 1];
            let mut passing = vec![0_u32; n + 1];
            for subset in 1_u32..1 << n {
                let k = subset.count_ones() as usize;
                draws[k] += 1;
                passing[k] += u32::from((0..n).all(|trial| subset & (1 << trial) == 0 || outcomes[trial]));
            }
            let estimates = pass_hat_k(pass as u64, n as u64);
            prop_assert_eq!(estimates.len(), n);
            for (index, estimate) in estimates.into_iter().enumerate() {
                let right = f64::from(passing[index + 1]) / f64::from(draws[index + 1]);
                prop_assert!((estimate - right).abs() < 1e-12, "k = {}: {} instead of {}", index + 1, estimate, right);
            }
        }
    }

    #[test]
    fn the_estimate_has_no_bias() {
        // The expectation over all outcomes of 5 trials at p = .8 is p^k.
        let p: f64 = 0.8;
        let chances = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0];
        let mean: f64 = (0..=5_u64)
            .map(|pass| {
                let chance = chances[pass as usize] * p.powi(pass as i32) * (1.0 - p).powi(5 - pass as i32);
                chance * pass_hat_k(pass, 5)[2]
            })
            .sum();
        assert!((mean - 0.512).abs() < 1e-12, "{mean}");
    }
}
