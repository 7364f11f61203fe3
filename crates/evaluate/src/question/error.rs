//! Why a judge gave no answer, or one that decides nothing.

use record::FailureKind;

/// Each try is a separate call, with its own seed.
pub const TRIES: u32 = 3;

/// Why there is no answer; never the agent's fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("ask the judge: {0}")]
    Failed(#[from] llm::Error),
    /// `reply` is the last one.
    #[error("understand the judge in {TRIES} tries: {reason}")]
    Malformed { reason: String, reply: String },
    /// The judge's quotes are not in the material, twice.
    #[error("find the judge's evidence: {reason}")]
    NoEvidence { reason: String, reply: String },
    /// The second, doubled limit cut the answer too.
    #[error(
        "get the whole answer of the judge: its limit of {limit} tokens cut it (the judge may need a `reasoning_reserve`)"
    )]
    Truncated { limit: u32, reply: String },
    /// The votes tie.
    #[error("decide by the judge's votes: {counted}")]
    Tied { counted: String, ballots: Vec<record::Ballot> },
    /// Half or fewer of the votes arrived. `error`: of the first one that is missing.
    #[error("{error} ({arrived} of {asked} votes arrived)")]
    TooFewVotes { error: Box<Self>, arrived: usize, asked: usize, ballots: Vec<record::Ballot> },
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Failed(llm::Error::Exhausted { .. }) => FailureKind::ProviderExhausted,
            Self::Failed(llm::Error::NoMoney { .. }) => FailureKind::BudgetUsedUp,
            Self::Failed(llm::Error::NoKey { .. }) => FailureKind::JudgeMissing,
            Self::Failed(error) if error.is_of_settings() => FailureKind::Misconfigured,
            Self::Failed(_) => FailureKind::JudgeFailed,
            Self::Malformed { .. } => FailureKind::JudgeMalformed,
            Self::NoEvidence { .. } => FailureKind::EvidenceNotFound,
            Self::Truncated { .. } => FailureKind::JudgeTruncated,
            Self::Tied { .. } => FailureKind::Undecided,
            Self::TooFewVotes { error, .. } => error.kind(),
        }
    }
}

/// Why an answer decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Open {
    /// The question is about something that does not occur.
    NotApplicable,
    /// There is no evidence for either answer.
    CannotTell,
}

/// What is wrong with one reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not in the form.
    Form(String),
    /// Its quotes are not in the material, or it lacks one.
    Evidence(String),
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Form(why)
    }
}
