//! ML-I2 and ML-I3: does a reply follow from the conversation, and from the last message?

use record::Finding;
use scenario::battery::Requirement;
use serde_json::json;

use super::{
    conversation::{Conversation, reply_of},
    row::Row,
};
use crate::JudgePool;

/// About how many characters a next-sentence model can read.
const WINDOW: usize = 2_000;
/// Revision 9043c93 counts characters where it means tokens.
const WINDOW_THEN: usize = 512;

pub(super) async fn examine(
    conversation: &Conversation<'_>,
    requirement: Requirement,
    pool: &dyn JudgePool,
) -> Vec<Row> {
    let threshold = conversation.battery.thresholds.coherence;
    let mut rows = Vec::new();
    for (turn, reply) in conversation.replies() {
        let context = context(conversation, requirement, turn);
        let found = pool.scorer(conversation.scope(turn)).next_sentence(&context, reply).await;
        rows.push(match found {
            Err(error) => Row::unscored(requirement, turn, &error),
            Ok(score) => {
                let value = score.value;
                let reason = format!("coherence {value:.2}, at least {threshold} ({})", score.model);
                let mut row = Row::new(requirement, turn, value >= threshold, reason);
                row.cell.detail = Some(json!(value));
                row.cell.models = vec![score.model];
                row.ballots.extend(score.ballot);
                if conversation.is_compat() && requirement == Requirement::ContextCoherence {
                    // Revision 9043c93 has two labels for this, and neither of them is Pass.
                    let word = if value <= threshold { "Incoherent response" } else { "Uncertain result" };
                    row.cell.word = Some(word.to_owned());
                    row.finding = Finding::Fail;
                }
                row
            }
        });
    }
    rows
}

/// The end of the conversation before the reply. Revision 9043c93 leaves out the answered message itself.
fn context(conversation: &Conversation<'_>, requirement: Requirement, turn: usize) -> String {
    let prompt = conversation.turns[turn].user.as_str();
    let compat = conversation.is_compat();
    if requirement == Requirement::ReplyCoherence && !compat {
        return prompt.to_owned();
    }
    let mut messages: Vec<&str> =
        conversation.turns[..turn].iter().flat_map(|turn| [turn.user.as_str(), reply_of(turn)]).collect();
    if !compat {
        messages.push(prompt);
    }
    let text = messages.join(" ");
    let window = if compat { WINDOW_THEN } else { WINDOW };
    let characters = text.chars().count();
    match text.char_indices().nth(characters.saturating_sub(window)) {
        Some((start, _)) => text[start..].to_owned(),
        None => text,
    }
}
