//! Exit codes: public, and the same embedded or distributed.

use record::{
    Summary,
    summary::{RunState, RunVerdict},
};

/// Precedence where several apply: interrupted, usage, budget, failed, not enough evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Held,
    GateFailed,
    Usage,
    NotEnoughEvidence,
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::GateFailed => 1,
            Self::Usage => 2,
            Self::NotEnoughEvidence => 3,
            Self::Interrupted => 130,
        }
    }

    /// What a run's end means to whoever waits for it.
    pub(crate) fn of(summary: &Summary) -> Self {
        match (summary.run.state, summary.verdict) {
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
