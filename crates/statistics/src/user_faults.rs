//! How often the simulated user is at fault, and what that does to the success rate.
//!
//! Rates count lines, each as one draw: an interval is too narrow where faults of one trial depend on each other.

use std::collections::BTreeMap;

use record::{
    Role,
    summary::{FaultFigures, NamedUser, SimulatedUser, UserFigures},
    tally::{Counts, UserCounts, Users},
};

use crate::wilson::interval;

/// `None` if no trial had a simulated user. `counts`: of all trials of the run.
#[must_use]
pub fn of(users: &Users, counts: &Counts) -> Option<SimulatedUser> {
    if users.total.lines == 0 {
        return None;
    }
    let (despite, own) = (users.despite, counts.conclusive());
    let all = own + despite.trials;
    let share = |pass: u64| if all == 0 { None } else { Some(pass as f64 / all as f64) };
    Some(SimulatedUser {
        total: figures(&users.total),
        by_model: named(&users.models),
        by_persona: named(&users.personas),
        success_rate_with_faults: interval(counts.pass + despite.pass, own + despite.pass + despite.held_against_agent),
        success_rate_without_faults: interval(counts.pass, own),
        low: share(counts.pass).unwrap_or(0.0),
        high: share(counts.pass + despite.trials).unwrap_or(1.0),
    })
}

fn named(users: &BTreeMap<(Role, String), UserCounts>) -> Vec<NamedUser> {
    users.iter().map(|((_, name), counts)| NamedUser { name: name.clone(), figures: figures(counts) }).collect()
}

fn figures(counts: &UserCounts) -> UserFigures {
    let of_lines = |lines: u64| interval(lines, counts.lines);
    UserFigures {
        trials: counts.trials,
        faulty_trials: counts.faulty_trials,
        faulty_rate: interval(counts.faulty_trials, counts.trials),
        lines: counts.lines,
        unknown: counts.unknown,
        unknown_rate: of_lines(counts.unknown),
        faults: counts
            .faults
            .iter()
            .map(|(kind, lines)| FaultFigures {
                kind: *kind,
                refused: lines.refused,
                refused_rate: of_lines(lines.refused),
                sent: lines.sent,
                sent_rate: of_lines(lines.sent),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{
        tally::{FaultyLines, FaultyTrials},
        user_fault::FaultKind,
    };

    use super::*;

    #[test]
    fn the_figures_of_a_run_with_faults() {
        let leak = (FaultKind::Leak, FaultyLines { refused: 5, sent: 2 });
        let total =
            UserCounts { trials: 20, faulty_trials: 4, lines: 100, unknown: 10, faults: [leak].into_iter().collect() };
        let despite = FaultyTrials { trials: 4, pass: 3, held_against_agent: 1 };
        let users = Users { total, despite, ..Users::default() };
        let counts = Counts { pass: 8, fail: 7, error: 2, agent_errors: 1, inconclusive: 4, ..Counts::default() };
        let found = of(&users, &counts).unwrap();
        let estimate = |rate: &record::summary::Rate| (rate.estimate.unwrap(), rate.n);
        assert_eq!(estimate(&found.success_rate_with_faults), (11.0 / 20.0, 20));
        assert_eq!(estimate(&found.success_rate_without_faults), (8.0 / 16.0, 16));
        assert_eq!((found.low, found.high), (8.0 / 20.0, 12.0 / 20.0));
        assert_eq!(estimate(&found.total.faulty_rate), (0.2, 20));
        assert_eq!(estimate(&found.total.unknown_rate), (0.1, 100));
        assert_eq!(estimate(&found.total.faults[0].refused_rate), (0.05, 100));
        assert_eq!(estimate(&found.total.faults[0].sent_rate), (0.02, 100));
        assert_eq!(of(&Users::default(), &counts), None);
    }

    proptest! {
        /// Faults are planted in trials whose verdicts are known: the bounds hold the rate without them.
        #[test]
        fn the_bounds_hold_the_rate_that_a_user_without_faults_would_show(
            trials in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..60),
        ) {
            let (mut counts, mut despite) = (Counts::default(), FaultyTrials::default());
            for (passes, is_faulty) in &trials {
                match (is_faulty, passes) {
                    // The fault may have turned the verdict: it says nothing.
                    (true, _) => {
                        despite.trials += 1;
                        despite.held_against_agent += 1;
                    }
                    (false, true) => counts.pass += 1,
                    (false, false) => counts.fail += 1,
                }
            }
            let total = UserCounts { lines: 1, ..UserCounts::default() };
            let found = of(&Users { total, despite, ..Users::default() }, &counts).unwrap();
            let truth = trials.iter().filter(|(passes, _)| *passes).count() as f64 / trials.len() as f64;
            prop_assert!(found.low <= truth + 1e-12 && truth <= found.high + 1e-12);
            if let Some(rate) = found.success_rate_without_faults.estimate {
                prop_assert!(found.low <= rate && rate <= found.high);
            }
        }
    }
}
