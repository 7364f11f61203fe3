//! An evaluator's finding, before it becomes a judgment of its check.

use record::{Ballot, CustomRun, FailureKind, Finding};

use crate::{
    excerpt::{LONG_BYTES, SHORT_BYTES, excerpt},
    question::{Error as JudgeError, Open},
    scorer::Error as ScoreError,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    pub(crate) score: Option<f64>,
    pub(crate) reason: String,
    pub(crate) evidence: Option<String>,
    pub(crate) failure: Option<FailureKind>,
    /// The judges' answers, one for each vote.
    pub(crate) ballots: Vec<Ballot>,
    /// Why judges that decided it only inform.
    pub(crate) uncalibrated: Option<Box<str>>,
    /// Of a check of the user's own that answered.
    pub(crate) custom: Option<Box<CustomRun>>,
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
        let (score, evidence, failure, uncalibrated, custom) = (None, None, None, None, None);
        Self { finding, score, reason, evidence, failure, ballots, uncalibrated, custom }
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

    /// The check does not apply to this conversation, so it does not count.
    pub(crate) fn not_applicable(reason: impl Into<String>) -> Self {
        Self { finding: Finding::NotApplicable, failure: None, ..Self::undecided(reason) }
    }

    /// A judge answered, and its answer decides nothing.
    pub(crate) fn open(answer: Open) -> Self {
        match answer {
            Open::NotApplicable => Self::not_applicable("the judge finds that the question does not apply"),
            Open::CannotTell => Self::undecided("the judge cannot tell by this conversation"),
        }
    }

    /// The same with the judges' reasoning and ballots.
    pub(crate) fn open_with(answer: Open, reasoning: &str, ballots: Vec<Ballot>) -> Self {
        let outcome = Self::open(answer);
        let reason = format!("{}: {}", outcome.reason, excerpt(reasoning, 8 * SHORT_BYTES));
        Self { reason, ballots, ..outcome }
    }

    pub(crate) fn is_decided(&self) -> bool {
        matches!(self.finding, Finding::Pass | Finding::Fail)
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

    /// The same with votes that name the part of the check that they are about.
    pub(crate) fn about(mut self, part: &str) -> Self {
        self.ballots = self.ballots.into_iter().map(|ballot| ballot.about(part)).collect();
        self
    }

    /// The same with the votes on earlier questions of the check, which come first.
    pub(crate) fn after(mut self, earlier: Vec<Ballot>) -> Self {
        self.ballots.splice(0..0, earlier);
        self
    }

    /// Whether something of ours failed. That counts, whichever judges were measured.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some_and(|failure| failure != FailureKind::Undecided)
    }

    /// A check of a conversation in a step without turns: a mistake in the scenario.
    pub(crate) fn nothing_said() -> Self {
        Self::error(FailureKind::Misconfigured, "there are no turns to judge")
    }
}

impl From<JudgeError> for Outcome {
    fn from(error: JudgeError) -> Self {
        let reason = format!("failed to {error}");
        let outcome = Self::error(error.kind(), reason);
        let undecided = Self { finding: Finding::Inconclusive, ..outcome.clone() };
        match error {
            JudgeError::Failed(_) => outcome,
            JudgeError::Tied { ballots, .. } => undecided.with_ballots(ballots),
            JudgeError::TooFewVotes { error, ballots, .. } => {
                Self { reason: outcome.reason, ..Self::from(*error) }.with_ballots(ballots)
            }
            JudgeError::Malformed { reply, .. }
            | JudgeError::NoEvidence { reply, .. }
            | JudgeError::Truncated { reply, .. } => undecided.with_evidence(&reply),
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
