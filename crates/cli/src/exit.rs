//! Exit codes: public, and the same embedded or distributed.

use record::{
    FailureKind, Summary,
    summary::{FailureCount, RunState, RunVerdict},
};

/// Precedence where several apply: interrupted, usage, budget, failed, not enough evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Held,
    GateFailed,
    Usage,
    NotEnoughEvidence,
    /// A provider's quota or credit was used up, and the run stopped.
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

    /// What a run's end means to whoever waits for it.
    pub(crate) fn of(summary: &Summary) -> Self {
        Self::of_end(summary.run.state, summary.verdict, &summary.summary.failures)
    }

    fn of_end(state: RunState, verdict: RunVerdict, failures: &[FailureCount]) -> Self {
        let exhausted = || failures.iter().any(|failure| failure.kind == FailureKind::ProviderExhausted);
        match (state, verdict) {
            (RunState::Interrupted, _) if exhausted() => Self::Budget,
            (RunState::Interrupted | RunState::Cancelled, _) => Self::Interrupted,
            (_, RunVerdict::Fail) => Self::GateFailed,
            (_, RunVerdict::Inconclusive) => Self::NotEnoughEvidence,
            (_, RunVerdict::Pass) => Self::Held,
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
    use super::*;

    #[test]
    fn the_end_of_a_run_is_a_code() {
        let failed = |kind: FailureKind| vec![FailureCount { kind, blame: kind.blame(), trials: 1 }];
        let (exhausted, poisoned) = (failed(FailureKind::ProviderExhausted), failed(FailureKind::Poisoned));
        for (state, verdict, failures, code) in [
            (RunState::Finished, RunVerdict::Pass, &poisoned, 0),
            (RunState::Finished, RunVerdict::Fail, &poisoned, 1),
            (RunState::Finished, RunVerdict::Inconclusive, &exhausted, 3),
            (RunState::Interrupted, RunVerdict::Inconclusive, &poisoned, 130),
            (RunState::Interrupted, RunVerdict::Fail, &exhausted, 4),
            (RunState::Interrupted, RunVerdict::Inconclusive, &exhausted, 4),
            (RunState::Cancelled, RunVerdict::Inconclusive, &exhausted, 130),
        ] {
            assert_eq!(Exit::of_end(state, verdict, failures).code(), code, "{state:?} {verdict:?} {failures:?}");
        }
    }
}
