//! What an evaluator found, before it becomes a judgment of its check.

use record::{Ballot, FailureKind, Finding};

use crate::{
    excerpt::{LONG_BYTES, excerpt},
    question::Error as JudgeError,
    scorer::Error as ScoreError,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    pub(crate) score: Option<f64>,
    pub(crate) reason: String,
    pub(crate) evidence: Option<String>,
    pub(crate) failure: Option<FailureKind>,
    /// What judges answered, one for each vote.
    pub(crate) ballots: Vec<Ballot>,
}

impl Outcome {
    pub(crate) fn pass(reason: impl Into<String>) -> Self {
        Self::decided(true, reason)
    }

    pub(crate) fn fail(reason: impl Into<String>) -> Self {
        Self::decided(false, reason)
    }

    pub(crate) fn decided(holds: bool, reason: impl Into<String>) -> Self {
        let finding = if holds { Finding::Pass } else { Finding::Fail };
        let (reason, ballots) = (reason.into(), Vec::new());
        Self { finding, score: None, reason, evidence: None, failure: None, ballots }
    }

    /// The evaluator could not judge, through no fault of the agent.
    pub(crate) fn error(failure: FailureKind, reason: impl Into<String>) -> Self {
        Self { finding: Finding::Error, failure: Some(failure), ..Self::decided(false, reason) }
    }

    /// The evidence does not decide it.
    pub(crate) fn undecided(reason: impl Into<String>) -> Self {
        Self { finding: Finding::Inconclusive, ..Self::error(FailureKind::Undecided, reason) }
    }

    /// A custom check answered, and its answer decides nothing.
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self { finding: Finding::Inconclusive, ..Self::error(FailureKind::CheckMalformed, reason) }
    }

    /// The check does not apply to what was said: it does not count.
    pub(crate) fn not_applicable(reason: impl Into<String>) -> Self {
        Self { finding: Finding::NotApplicable, failure: None, ..Self::undecided(reason) }
    }

    /// Swaps pass and fail. The score stays as measured.
    pub(crate) fn negated(self) -> Self {
        let finding = match self.finding {
            Finding::Pass => Finding::Fail,
            Finding::Fail => Finding::Pass,
            other => return Self { finding: other, ..self },
        };
        Self { finding, reason: format!("must not hold: {}", self.reason), ..self }
    }

    pub(crate) fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    pub(crate) fn with_evidence(mut self, evidence: &str) -> Self {
        self.evidence = Some(excerpt(evidence, LONG_BYTES).into_owned());
        self
    }

    pub(crate) fn with_ballots(mut self, ballots: Vec<Ballot>) -> Self {
        self.ballots = ballots;
        self
    }

    /// A check of a conversation stands in a step without turns: a mistake in the scenario.
    pub(crate) fn nothing_said() -> Self {
        Self::error(FailureKind::Misconfigured, "there are no turns to judge")
    }
}

impl From<JudgeError> for Outcome {
    fn from(error: JudgeError) -> Self {
        let reason = format!("failed to {error}");
        let outcome = Self::error(error.kind(), reason);
        match (&error, error.reply()) {
            (JudgeError::Failed(_), _) => outcome,
            (_, None) => Self { finding: Finding::Inconclusive, ..outcome },
            (_, Some(reply)) => Self { finding: Finding::Inconclusive, ..outcome }.with_evidence(reply),
        }
    }
}

impl From<ScoreError> for Outcome {
    fn from(error: ScoreError) -> Self {
        match error {
            ScoreError::Judge(error) => error.into(),
            other => Self::error(other.kind(), format!("failed to {other}")),
        }
    }
}
