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
        Self::of_end(summary.run.state, summary.run.exhausted, summary.verdict)
    }

    /// What it means where the coordinator stopped the run by itself: nobody interrupted it.
    pub(crate) fn of_stopped(summary: &Summary) -> Self {
        let interrupted = summary.run.state == RunState::Interrupted && !summary.run.exhausted;
        let state = if interrupted { RunState::Finished } else { summary.run.state };
        Self::of_end(state, summary.run.exhausted, summary.verdict)
    }

    /// Trials that a used-up quota broke are played when the run is resumed, so a run that has some is not finished.
    fn of_end(state: RunState, exhausted: bool, verdict: RunVerdict) -> Self {
        match (state, verdict) {
            (RunState::Interrupted, _) if exhausted => Self::Budget,
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
        for (state, exhausted, verdict, code) in [
            (RunState::Finished, false, RunVerdict::Pass, 0),
            (RunState::Finished, false, RunVerdict::Fail, 1),
            // Every trial was decided all the same.
            (RunState::Finished, true, RunVerdict::Pass, 0),
            (RunState::Finished, false, RunVerdict::Inconclusive, 3),
            (RunState::Interrupted, false, RunVerdict::Inconclusive, 130),
            (RunState::Interrupted, true, RunVerdict::Fail, 4),
            (RunState::Interrupted, true, RunVerdict::Inconclusive, 4),
            (RunState::Cancelled, true, RunVerdict::Inconclusive, 130),
        ] {
            assert_eq!(Exit::of_end(state, exhausted, verdict).code(), code, "{state:?} {exhausted} {verdict:?}");
        }
    }
}
