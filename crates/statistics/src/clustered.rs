//! The 95 % interval of the success rate of a whole run.
//!
//! Trials of one scenario are more alike than trials of two. With [`LEAST_SCENARIOS`] or more, scenarios are a sample of what the agent
//! is asked: the variance comes from how much they differ, and the interval holds for scenarios like these. With fewer, or if all
//! trials agree, nothing is known about how much scenarios differ: the interval comes from the trials, and holds for these scenarios
//! only. E. Miller, "Adding error bars to evals", arXiv:2411.00640; N. Dean and M. Pagano, "Evaluating confidence interval methods for
//! binomial proportions in clustered surveys", JSSAM 3 (2015).

use record::summary::{Rate, RateScope};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::{
    compare::rate::LEAST_CLUSTERS,
    wilson::{around, interval},
};

/// Fewer scenarios say too little about how much scenarios differ.
pub const LEAST_SCENARIOS: usize = LEAST_CLUSTERS;

/// The 97.5 % point, for an interval of 95 %.
const UPPER: f64 = 0.975;

/// The rate over all scenarios, each given by its passes and trials, and what its interval is about.
///
/// The interval is Wilson's, for `n / design effect` trials and Student's t with one degree of freedom less than there are scenarios. The
/// design effect is the variance between scenarios, `k / (k − 1) · Σ (pass − rate · n)² / N²`, by that of independent trials,
/// `rate (1 − rate) / N`; at least 1.
#[must_use]
pub fn rate(scenarios: impl IntoIterator<Item = (u64, u64)>) -> (Rate, RateScope) {
    let counted: Vec<(f64, f64)> =
        scenarios.into_iter().filter(|(_, n)| *n > 0).map(|(pass, n)| (pass.min(n) as f64, n as f64)).collect();
    let (pass, n) = counted.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let (clusters, plain) = (counted.len(), interval(pass as u64, n as u64));
    let scope = RateScope { scenarios: clusters as u64, clustered: false, design_effect: None };
    let agree = pass == 0.0 || pass == n;
    let Some(student) = StudentsT::new(0.0, 1.0, clusters as f64 - 1.0).ok().filter(|_| clusters >= LEAST_SCENARIOS)
    else {
        return (plain, scope);
    };
    if agree {
        return (plain, scope);
    }
    let share = pass / n;
    let squares: f64 = counted.iter().map(|(pass, n)| (pass - share * n).powi(2)).sum();
    let variance = clusters as f64 / (clusters as f64 - 1.0) * squares / (n * n);
    let design_effect = (variance / (share * (1.0 - share) / n)).max(1.0);
    let (low, high) = around(share, n / design_effect, student.inverse_cdf(UPPER));
    let rate = Rate { low, high, method: "clustered 95%".to_owned(), ..plain };
    (rate, RateScope { clustered: true, design_effect: Some(design_effect), ..scope })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{number, rows, whole};

    #[test]
    fn few_scenarios_and_trials_that_agree_have_the_interval_of_their_trials() {
        for scenarios in [vec![], vec![(0, 0)], vec![(5, 9)], vec![(5, 9); 5], vec![(9, 9); 20], vec![(0, 3); 7]] {
            let (pass, n) = scenarios.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let (found, scope) = rate(scenarios.clone());
            assert_eq!(
                (found, scope.clustered, scope.design_effect),
                (interval(pass, n), false, None),
                "{scenarios:?}"
            );
            assert_eq!(scope.scenarios, scenarios.iter().filter(|(_, n)| *n > 0).count() as u64);
        }
    }

    #[test]
    fn the_interval_is_that_of_scipy() {
        for row in rows("clustered") {
            let scenarios = row[0].as_array().unwrap().iter().map(|of| (whole(&of[0]), whole(&of[1])));
            let (found, scope) = rate(scenarios);
            assert!((scope.design_effect.unwrap() - number(&row[1])).abs() < 1e-9, "{row}: {scope:?}");
            assert!(
                (found.low - number(&row[2])).abs() < 1e-8 && (found.high - number(&row[3])).abs() < 1e-8,
                "{row}: {found:?}"
            );
        }
    }

    #[test]
    fn the_interval_of_scenarios_that_differ_is_wider() {
        let (half_broken, scope) = rate((0..10).map(|scenario| if scenario < 5 { (20, 20) } else { (0, 20) }));
        // Ten scenarios that each are right or wrong say as much as ten trials, and the variance has one degree of freedom less.
        assert_eq!((half_broken.estimate, half_broken.n, scope.scenarios), (Some(0.5), 200, 10));
        assert!((scope.design_effect.unwrap() - 20.0 * 10.0 / 9.0).abs() < 1e-9, "{scope:?}");
        let t = 2.262_157_162_740_992_f64;
        let half = t / (9.0 + t * t).sqrt() / 2.0;
        assert!((half_broken.low - (0.5 - half)).abs() < 1e-6 && (half_broken.high - (0.5 + half)).abs() < 1e-6);
        let (alike, scope) = rate(vec![(10, 20); 10]);
        assert_eq!(scope.design_effect, Some(1.0), "never narrower than that of independent trials");
        assert!(alike.low < interval(100, 200).low && alike.low > half_broken.low);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_rate_and_is_no_narrower_than_that_of_trials(
            scenarios in proptest::collection::vec((0_u64..30, 0_u64..30), 0..40),
        ) {
            let scenarios: Vec<(u64, u64)> = scenarios.into_iter().map(|(pass, fail)| (pass, pass + fail)).collect();
            let (pass, n) = scenarios.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let (found, scope) = rate(scenarios);
            let plain = interval(pass, n);
            prop_assert_eq!((found.estimate, found.n), (plain.estimate, n));
            prop_assert!(found.low <= plain.low + 1e-9 && found.high >= plain.high - 1e-9, "{:?} {:?}", found, plain);
            prop_assert!(0.0 <= found.low && found.high <= 1.0);
            prop_assert_eq!(scope.clustered, found.method == "clustered 95%");
        }
    }
}
