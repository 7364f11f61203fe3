//! How a run ended, as the exit code of `gabfest run` says it.

use record::{
    Summary,
    summary::{RunState, RunVerdict},
};

/// Precedence where several apply: interrupted, quota or budget used up, gate failed, not enough evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Held,
    GateFailed,
    NotEnoughEvidence,
    /// A provider's quota or credit is used up, and the run stopped.
    QuotaUsedUp,
    /// The budget of the run (`max_cost`) is used up, and the run stopped.
    BudgetUsedUp,
    Interrupted,
}

impl Ending {
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let run = &summary.run;
        let out_of_money = summary.summary.budget.is_some_and(|budget| budget.used_up);
        if run.state == RunState::Interrupted && out_of_money && !run.exhausted {
            return Self::BudgetUsedUp;
        }
        // Nobody interrupted a run that gabfest itself stopped, so its gates decide.
        let by_itself = run.state == RunState::Interrupted && run.stopped.is_some() && !run.exhausted;
        let state = if by_itself { RunState::Finished } else { run.state };
        Self::of_state(state, run.exhausted, summary.verdict)
    }

    /// Trials that a used-up quota broke are played when the run is resumed, so a run that has some is not finished.
    #[must_use]
    pub fn of_state(state: RunState, exhausted: bool, verdict: RunVerdict) -> Self {
        match (state, verdict) {
            (RunState::Interrupted, _) if exhausted => Self::QuotaUsedUp,
            (RunState::Interrupted | RunState::Cancelled, _) => Self::Interrupted,
            (_, RunVerdict::Fail) => Self::GateFailed,
            (_, RunVerdict::Inconclusive) => Self::NotEnoughEvidence,
            (_, RunVerdict::Pass) => Self::Held,
        }
    }

    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::GateFailed => 1,
            Self::NotEnoughEvidence => 3,
            Self::QuotaUsedUp | Self::BudgetUsedUp => 4,
            Self::Interrupted => 130,
        }
    }

    /// `1: a gate failed`.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Held => "0: every gate held",
            Self::GateFailed => "1: a gate failed",
            Self::NotEnoughEvidence => "3: not enough evidence",
            Self::BudgetUsedUp => "4: stopped, because the budget of the run is used up",
            Self::QuotaUsedUp => "4: stopped, because a provider's quota is used up",
            Self::Interrupted => "130: interrupted, with a partial report",
        }
    }
}
