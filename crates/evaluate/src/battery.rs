//! A conversation of a quality battery, examined when it is over: every reply, then every requirement.
//!
//! One file an oracle. What an oracle finds about a reply is a judgment that informs; the requirement's share of
//! passed replies is the judgment that the verdict rests on. Where the original's revision finds otherwise and
//! `compat` asks for it, the oracle says so itself.

mod answers;
mod closed;
mod coherence;
mod filtering;
mod repeated;
mod stutter;
mod totals;
mod toxic;

use record::{FailureKind, Finding, Judgment, Scope, Turn, battery::Cell};
use scenario::{
    Battery,
    battery::{Compat, Examination, Requirement},
};

use crate::{
    JudgePool,
    excerpt::{SHORT_BYTES, excerpt},
    scorer,
};

/// A conversation that is over.
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'a> {
    pub battery: &'a Battery,
    pub examination: &'a Examination,
    /// In order; the first belongs to the examination's first turn.
    pub turns: &'a [Turn],
    /// The step that it was, from 1.
    pub step: u32,
}

/// Examines a conversation: the findings about replies in the order of requirements, then one for each requirement.
pub async fn examine(conversation: Conversation<'_>, pool: &dyn JudgePool) -> Vec<Judgment> {
    let mut rows = Vec::new();
    for requirement in conversation.battery.requirements() {
        let first = rows.len();
        match requirement {
            Requirement::Stutter => rows.extend(stutter::examine(&conversation)),
            Requirement::RepeatedQuestions => rows.extend(repeated::examine(&conversation)),
            Requirement::ContextCoherence | Requirement::ReplyCoherence => {
                rows.extend(coherence::examine(&conversation, requirement, pool).await);
            }
            Requirement::Toxicity => rows.extend(toxic::examine(&conversation, pool).await),
            Requirement::InputFiltering => rows.extend(filtering::examine(&conversation)),
            _ => rows.extend(answers::examine(&conversation, requirement, pool).await),
        }
        rows[first..].sort_by_key(|row: &Row| row.turn);
    }
    let totals = totals::judgments(&conversation, &rows);
    rows.into_iter().map(|row| row.into_judgment(&conversation)).chain(totals).collect()
}

impl<'a> Conversation<'a> {
    fn is_compat(&self) -> bool {
        self.battery.compat == Some(Compat::Emely9043c93)
    }

    fn replies(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        self.turns.iter().enumerate().map(|(index, turn)| (index, reply_of(turn)))
    }

    fn scope(&self, turn: usize) -> Scope {
        let turn = self.turns.get(turn).map_or(0, |turn| turn.number);
        Scope::Turn { step: self.step, turn }
    }
}

fn reply_of(turn: &Turn) -> &str {
    turn.agent.as_deref().unwrap_or("")
}

/// What an oracle found about one reply.
#[derive(Debug)]
struct Row {
    /// Index into the conversation's turns.
    turn: usize,
    cell: Cell,
    finding: Finding,
    /// 0 to 1.
    score: Option<f64>,
    reason: String,
    failure: Option<FailureKind>,
}

impl Row {
    fn new(requirement: Requirement, turn: usize, passes: bool, reason: impl Into<String>) -> Self {
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
        Self { turn, cell, finding, score: None, reason: reason.into(), failure: None }
    }

    /// Nothing could be found, which is not the agent's doing.
    fn unscored(requirement: Requirement, turn: usize, error: &scorer::Error) -> Self {
        let failure = error.kind();
        let finding = match failure {
            FailureKind::JudgeMalformed => Finding::Inconclusive,
            _ => Finding::Error,
        };
        let row = Self::new(requirement, turn, false, format!("failed to score the reply: {error}"));
        Self { finding, failure: Some(failure), ..row }
    }

    fn into_judgment(self, conversation: &Conversation<'_>) -> Judgment {
        let requirement = self.cell.requirement;
        let set = self.cell.set.map_or_else(String::new, |set| format!(", data set {set}"));
        Judgment {
            check: requirement.id().to_owned(),
            description: Some(format!("{}{set}", requirement.title())),
            scope: conversation.scope(self.turn),
            finding: self.finding,
            score: self.score,
            reason: excerpt(&self.reason, 4 * SHORT_BYTES).into_owned(),
            evidence: serde_json::to_string(&self.cell).ok(),
            failure: self.failure,
            line: 0,
            required: false,
            weight: 1.0,
        }
    }
}
