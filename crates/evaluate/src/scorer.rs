//! Scores texts: how similar two are, which part answers a question, whether one follows another, how toxic one is.
//!
//! Evaluators get a [`Scorer`] from [`crate::JudgePool::scorer`]. [`ByJudge`] asks the judge; [`Chosen`] asks the models
//! that the settings choose, and the judge for the rest. A score names the model that gave it.

mod chosen;
mod judged;

use std::fmt;

use async_trait::async_trait;
use record::{Ballot, FailureKind};

pub use self::{
    chosen::{Chosen, Models},
    judged::ByJudge,
};
use crate::question::Error as JudgeError;

/// The scores of [`Toxicity`], in order. The names are the labels of the Detoxify models.
pub const TOXICITY: [&str; 7] =
    ["toxicity", "severe_toxicity", "obscene", "identity_attack", "insult", "threat", "sexual_explicit"];

/// The bound of [`Scorer::next_sentence`] in both directions: the log-odds of a probability of 0.999994.
pub const MOST_LOG_ODDS: f64 = 12.0;

/// Scores texts for one scope of one trial. Its calls count under this scope.
#[async_trait]
pub trait Scorer: Send + Sync + fmt::Debug {
    /// How similar two texts are in meaning: 1 for the same, about 0 for unrelated texts. Cosines go down to -1.
    async fn similarity(&self, a: &str, b: &str) -> Result<Score, Error>;

    /// The part of the context that answers the question; empty if no part does.
    async fn answer(&self, question: &str, context: &str) -> Result<Answer, Error>;

    /// How well the reply follows the context, as log-odds: 0 is even, the usual range is -12 to 12
    /// (the first logit minus the second of BERT's next-sentence head).
    async fn next_sentence(&self, context: &str, reply: &str) -> Result<Score, Error>;

    /// Each from 0 to 1: the probability that a reader finds the text toxic in this way.
    async fn toxicity(&self, text: &str) -> Result<Toxicity, Error>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    pub value: f64,
    /// The model that gave it, for people: `all-MiniLM-L6-v2`, `judge gpt-4o`.
    pub model: String,
    /// The judge's vote, if a judge gave it.
    pub ballot: Option<Ballot>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub model: String,
    pub ballot: Option<Ballot>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Toxicity {
    /// In the order of [`TOXICITY`].
    pub scores: [f64; TOXICITY.len()],
    pub model: String,
    pub ballot: Option<Ballot>,
}

impl Toxicity {
    /// The scores with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        TOXICITY.into_iter().zip(self.scores)
    }
}

/// Why there is no score. It is never the agent's fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Judge(#[from] JudgeError),
    #[error("ask for a score: {0}")]
    Failed(#[from] llm::Error),
    /// The model answered without a usable score.
    #[error("take a score from {model}: {reason}")]
    Malformed { model: String, reason: String },
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Judge(error) => error.kind(),
            Self::Failed(llm::Error::Exhausted { .. }) => FailureKind::ProviderExhausted,
            Self::Failed(llm::Error::NoMoney { .. }) => FailureKind::BudgetUsedUp,
            Self::Failed(llm::Error::NoKey { .. }) => FailureKind::JudgeMissing,
            Self::Failed(error) if error.is_of_settings() => FailureKind::Misconfigured,
            Self::Failed(_) => FailureKind::JudgeFailed,
            Self::Malformed { .. } => FailureKind::JudgeMalformed,
        }
    }
}

/// The log-odds of a probability, between -[`MOST_LOG_ODDS`] and [`MOST_LOG_ODDS`].
#[must_use]
pub fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln().clamp(-MOST_LOG_ODDS, MOST_LOG_ODDS)
}

#[cfg(test)]
mod tests {
    use super::{MOST_LOG_ODDS, log_odds};

    #[test]
    fn log_odds_have_bounds() {
        assert_eq!((log_odds(0.0), log_odds(0.5), log_odds(1.0)), (-MOST_LOG_ODDS, 0.0, MOST_LOG_ODDS));
        assert!((log_odds(0.9) - 2.197).abs() < 0.001);
    }
}
