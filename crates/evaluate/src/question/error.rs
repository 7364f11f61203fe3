//! Why a judge gave no answer.

use record::FailureKind;

/// Each try is a call of its own, with its own seed.
pub const TRIES: u32 = 3;

/// Why there is no answer; never the agent's fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("ask the judge: {0}")]
    Failed(#[from] llm::Error),
    /// `reply` is the last one.
    #[error("understand the judge in {TRIES} tries: {reason}")]
    Malformed { reason: String, reply: String },
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Failed(llm::Error::Exhausted { .. }) => FailureKind::ProviderExhausted,
            Self::Failed(llm::Error::NoKey { .. }) => FailureKind::JudgeMissing,
            Self::Failed(error) if error.is_of_settings() => FailureKind::Misconfigured,
            Self::Failed(_) => FailureKind::JudgeFailed,
            Self::Malformed { .. } => FailureKind::JudgeMalformed,
        }
    }
}
