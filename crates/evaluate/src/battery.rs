//! A conversation of a quality battery, examined when it is over: every reply, then every requirement.
//!
//! One file per oracle. An oracle's finding about a reply is a judgment that informs; the requirement's share of passed
//! replies is the judgment that decides the verdict. If the original's revision differs and `compat` asks for it, the
//! oracle's code has that variant.

mod answers;
mod closed;
mod coherence;
mod conversation;
mod filtering;
mod repeated;
mod row;
mod stutter;
mod totals;
mod toxic;

use record::{Judgment, battery::Reply};
use scenario::battery::Requirement;

use self::row::Row;
use crate::JudgePool;

pub use conversation::Conversation;

/// The result of an examination.
#[derive(Debug)]
pub struct Found {
    /// Those about replies in the order of requirements, then one for each requirement.
    pub judgments: Vec<Judgment>,
    /// The same about replies, with all that tables show.
    pub replies: Vec<Reply>,
}

/// Examines a conversation.
pub async fn examine(conversation: Conversation<'_>, pool: &dyn JudgePool) -> Found {
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
    let totals = totals::judgments(&conversation, &rows, pool);
    let (mut judgments, replies): (Vec<Judgment>, Vec<Reply>) =
        rows.into_iter().map(|row| row.into_record(&conversation)).unzip();
    judgments.extend(totals);
    Found { judgments, replies }
}
