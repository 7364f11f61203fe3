//! Exit codes: public, and the same embedded or distributed.

use record::Summary;
use report::Ending;

/// Precedence if several apply: interrupted, usage, budget, failed, not enough evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Held,
    GateFailed,
    Usage,
    NotEnoughEvidence,
    /// The budget of the run, or a provider's quota or credit was used up, and the run stopped.
    Budget,
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::GateFailed => 1,
            Self::Usage => 2,
            Self::NotEnoughEvidence => 3,
            Self::Budget => 4,
            Self::Interrupted => 130,
        }
    }

    /// The exit code for the end of a run.
    pub(crate) fn of(summary: &Summary) -> Self {
        Self::from(Ending::of(summary))
    }
}

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Held => Self::Held,
            Ending::GateFailed => Self::GateFailed,
            Ending::NotEnoughEvidence => Self::NotEnoughEvidence,
            Ending::QuotaUsedUp | Ending::BudgetUsedUp => Self::Budget,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

/// An error with the exit code that it means; everything else that fails is [`Exit::NotEnoughEvidence`].
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) anyhow::Error);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UsageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Marks an error as the caller's: exit code 2.
pub(crate) fn usage(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(UsageError(error.into()))
}

#[cfg(test)]
mod tests {
    use record::summary::{RunState, RunVerdict};

    use super::*;

    #[test]
    fn the_end_of_a_run_is_a_code() {
        for (state, exhausted, verdict, code) in [
            (RunState::Finished, false, RunVerdict::Pass, 0),
            (RunState::Finished, false, RunVerdict::Fail, 1),
            // Every trial was decided nevertheless.
            (RunState::Finished, true, RunVerdict::Pass, 0),
            (RunState::Finished, false, RunVerdict::Inconclusive, 3),
            (RunState::Interrupted, false, RunVerdict::Inconclusive, 130),
            (RunState::Interrupted, true, RunVerdict::Fail, 4),
            (RunState::Interrupted, true, RunVerdict::Inconclusive, 4),
            (RunState::Cancelled, true, RunVerdict::Inconclusive, 130),
        ] {
            let ending = Ending::of_state(state, exhausted, verdict);
            assert_eq!((Exit::from(ending).code(), ending.code()), (code, code), "{state:?} {exhausted} {verdict:?}");
        }
    }

    /// The verdict for CI and the exit code agree, over random runs with their gates and cases.
    #[test]
    fn junit_has_a_failure_or_an_error_exactly_if_the_exit_code_is_not_0() {
        use record::tally::Counts;
        use statistics::gate::{CaseResult, Required, Unforgivable, decide};
        let base = statistics::stored::read(include_bytes!("../../statistics/src/stored/version_1.json")).unwrap();
        let mut state = 1_u64;
        let mut below = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut held = 0;
        for round in 0..4_000 {
            let mut summary = base.clone();
            let mut results = Vec::new();
            let good = below(3) > 0;
            for case in &mut summary.cases {
                (case.pass, case.fail) = (below(8), if good { below(2) } else { below(5) });
                case.agent_errors = below(4) / 3;
                case.inconclusive = below(3) / 2;
                case.error = case.agent_errors + below(5) / 4;
                (case.skipped, case.cancelled) = (below(9) / 8, 0);
                let counts: Counts = case.counts();
                case.trials = counts.ended() + below(9) / 8;
                let required_pass_rate = [None, Some(0.5), Some(0.0)][below(3) as usize];
                let name = case.scenario.clone();
                results.push(CaseResult { name, planned: case.trials, counts, required_pass_rate });
            }
            let required = Required {
                pass_rate: [None, Some(0.5), Some(0.9)][below(3) as usize],
                case_pass_rate: None,
                max_unjudged: [0.0, 0.2, 0.5][below(3) as usize],
                max_unjudged_cases: below(3),
            };
            let never = Unforgivable { without_judge: below(12) / 11, out_of_quota: below(12) / 11 };
            let decision = decide(required, &results, never);
            for (case, verdict) in summary.cases.iter_mut().zip(&decision.cases) {
                case.verdict = *verdict;
            }
            (summary.gates, summary.verdict) = (decision.gates, decision.verdict);
            summary.run.state =
                [RunState::Finished, RunState::Finished, RunState::Interrupted, RunState::Cancelled][below(4) as usize];
            let page = report::junit::render(&summary, &report::Selection::default()).unwrap();
            let broken = page.contains("<failure") || page.contains("<error");
            let code = Exit::of(&summary).code();
            assert_eq!(broken, code != 0, "round {round}, code {code}: {:?}\n{page}", summary.gates);
            held += usize::from(code == 0);
        }
        assert!((100..3_900).contains(&held), "{held} of 4,000 runs passed: the draw shows nothing");
    }
}
