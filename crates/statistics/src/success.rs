//! The success rate: the share of trials with a result about the agent in which it succeeds.
//!
//! A trial has a result about the agent if it ends with PASS, FAIL, or an ERROR that is the agent's fault: an agent that
//! answers 500 did not succeed. Gates, cases, scenarios, metrics and reports all use this rate.

use record::{
    summary::{Bounds, Rate},
    tally::Counts,
};

use crate::wilson::interval;

/// pass / (pass + fail + errors of the agent).
#[must_use]
pub fn success_rate(counts: &Counts) -> Rate {
    interval(counts.pass, counts.conclusive())
}

/// pass / (pass + fail): the share of passes among the trials that the agent finished.
#[must_use]
pub fn judged_pass_rate(counts: &Counts) -> Rate {
    interval(counts.pass, counts.judged())
}

/// The bounds of the success rate of all planned trials. For the lower bound every missing trial fails. For the upper bound
/// every missing trial passes, and so does every failure in a replay of a trial that our side broke. C. F. Manski,
/// "Nonparametric bounds on treatment effects", AER 80 (1990).
#[must_use]
pub fn bounds(counts: &Counts, planned: u64) -> Bounds {
    let missing = counts.missing(planned);
    let doubtful = counts.doubtful;
    let all = counts.conclusive() + missing;
    if all == 0 {
        return Bounds { low: 0.0, high: 1.0, missing, doubtful };
    }
    let share = |trials: u64| trials as f64 / all as f64;
    Bounds { low: share(counts.pass), high: share(counts.pass + missing + doubtful), missing, doubtful }
}

/// The weighted mean of success rates, without those that have no trial.
#[must_use]
pub fn weighted<'a>(scenarios: impl IntoIterator<Item = (f64, &'a Counts)>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (weight, counts) in scenarios {
        if let Some(rate) = success_rate(counts).estimate {
            sum += weight * rate;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(pass: u64, fail: u64, agent_errors: u64, inconclusive: u64) -> Counts {
        Counts { pass, fail, error: agent_errors, agent_errors, inconclusive, ..Counts::default() }
    }

    #[test]
    fn an_error_of_the_agent_is_no_success() {
        let half_dead = counts(21, 0, 19, 0);
        let (success, judged) = (success_rate(&half_dead), judged_pass_rate(&half_dead));
        assert_eq!((success.estimate, success.n), (Some(21.0 / 40.0), 40));
        assert_eq!((judged.estimate, judged.n), (Some(1.0), 21));
        let ours = Counts { pass: 1, error: 3, ..Counts::default() };
        assert_eq!((success_rate(&ours).estimate, success_rate(&ours).n), (Some(1.0), 1));
    }

    #[test]
    fn bounds_leave_room_for_missing_trials() {
        let found = bounds(&counts(16, 2, 0, 1), 20);
        assert_eq!((found.low, found.high, found.missing), (0.8, 0.9, 2));
        let whole = bounds(&counts(3, 0, 1, 0), 4);
        assert_eq!((whole.low, whole.high, whole.missing), (0.75, 0.75, 0));
        assert_eq!((bounds(&Counts::default(), 0).low, bounds(&Counts::default(), 0).high), (0.0, 1.0));
    }

    /// An agent that answers 500 in 19 of 100 trials, and a judge that breaks most of those that it must judge: the first
    /// attempts say that 19 fail, and what is played again fails more often still.
    #[test]
    fn failures_in_replays_after_our_faults_keep_the_bounds_true() {
        let after_replays = Counts { doubtful: 17, ..counts(60, 0, 36, 4) };
        let found = bounds(&after_replays, 100);
        assert_eq!((found.low, found.high, found.missing, found.doubtful), (0.6, 0.81, 4, 17));
    }

    #[test]
    fn a_weighted_rate_counts_a_scenario_once() {
        let (many, few, none) = (counts(10, 10, 0, 0), counts(1, 0, 0, 0), Counts::default());
        assert_eq!(weighted([(1.0, &many), (1.0, &few), (9.0, &none)]), Some(0.75));
        assert_eq!(weighted([(3.0, &many), (1.0, &few)]), Some(0.625));
        assert_eq!(weighted([(1.0, &none)]), None);
    }

    proptest! {
        #[test]
        fn the_rate_lies_in_its_bounds(pass in 0_u64..50, fail in 0_u64..50, errors in 0_u64..50, open in 0_u64..50) {
            let counts = counts(pass, fail, errors, open);
            let planned = pass + fail + errors + open;
            let found = bounds(&counts, planned);
            prop_assert!(found.low <= found.high && found.missing == open);
            if let Some(rate) = success_rate(&counts).estimate {
                prop_assert!(found.low <= rate && rate <= found.high);
                prop_assert!(judged_pass_rate(&counts).estimate.is_none_or(|judged| judged >= rate));
            }
        }
    }
}
