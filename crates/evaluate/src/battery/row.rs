//! An oracle's finding about one reply, and its record.

use record::{
    Ballot, FailureKind, Finding, Judgment, Jury,
    battery::{Cell, Reply},
};
use scenario::battery::Requirement;

use super::conversation::Conversation;
use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    scorer,
};

/// An oracle's finding about one reply.
#[derive(Debug)]
pub(super) struct Row {
    /// Index into the conversation's turns.
    pub(super) turn: usize,
    pub(super) cell: Cell,
    pub(super) finding: Finding,
    /// 0 to 1.
    pub(super) score: Option<f64>,
    pub(super) reason: String,
    pub(super) failure: Option<FailureKind>,
    /// The votes of the judge, where a judge gave a score.
    pub(super) ballots: Vec<Ballot>,
}

impl Row {
    pub(super) fn new(requirement: Requirement, turn: usize, passes: bool, reason: impl Into<String>) -> Self {
        let cell = Cell {
            requirement,
            set: None,
            word: None,
            values: None,
            interpretation: None,
            detail: None,
            scores: Vec::new(),
            models: Vec::new(),
            counted: true,
        };
        let finding = if passes { Finding::Pass } else { Finding::Fail };
        Self { turn, cell, finding, score: None, reason: reason.into(), failure: None, ballots: Vec::new() }
    }

    /// There is no finding, which is not the agent's fault.
    pub(super) fn unscored(requirement: Requirement, turn: usize, error: &scorer::Error) -> Self {
        let failure = error.kind();
        let finding = match failure {
            FailureKind::JudgeMalformed => Finding::Inconclusive,
            _ => Finding::Error,
        };
        let row = Self::new(requirement, turn, false, format!("failed to score the reply: {error}"));
        Self { finding, failure: Some(failure), ..row }
    }

    /// A judgment that informs, and its row in the tables of a battery.
    pub(super) fn into_record(self, conversation: &Conversation<'_>) -> (Judgment, Reply) {
        let Self { turn, cell, finding, score, reason, failure, ballots } = self;
        let jury = (!ballots.is_empty()).then(|| Jury { words: conversation.words(turn), uncalibrated: None });
        let requirement = cell.requirement;
        let set = cell.set.map_or_else(String::new, |set| format!(", data set {set}"));
        let judgment = Judgment {
            check: requirement.id().to_owned(),
            name: None,
            description: Some(format!("{}{set}", requirement.title())),
            scope: conversation.scope(turn),
            finding,
            score,
            reason: excerpt(&reason, 4 * SHORT_BYTES).into_owned(),
            evidence: None,
            failure,
            line: 0,
            required: false,
            weight: 1.0,
            ballots,
            jury,
            custom: None,
        };
        (judgment, Reply { turn: conversation.number(turn), finding, cell })
    }
}
