//! `conversation_length`: the number of turns of the conversation.

use record::FailureKind;
use scenario::check;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct ConversationLength {
    min_turns: Option<u32>,
    max_turns: Option<u32>,
    /// Only for the reason; it never fails the check.
    optimal_turns: Option<u32>,
    /// Both ends included.
    target_range: Option<(u32, u32)>,
}

impl ConversationLength {
    pub(crate) fn new(rule: &check::ConversationLength) -> Self {
        Self {
            min_turns: rule.min_turns.map(|turns| turns.0),
            max_turns: rule.max_turns.map(|turns| turns.0),
            optimal_turns: rule.optimal_turns.map(|turns| turns.0),
            target_range: rule.target_range.map(|(low, high)| (low.0, high.0)),
        }
    }
}

impl Immediate for ConversationLength {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        if !subject.conversation {
            let reason = "No conversation metadata found: this step held no conversation with a simulated user";
            return Outcome::error(FailureKind::Misconfigured, reason);
        }
        let turns = u32::try_from(subject.turns.len()).unwrap_or(u32::MAX);
        let mut holds = true;
        let mut reason = format!("{turns} turns");
        let mut outside = |text: String| {
            holds = false;
            reason.push_str(", ");
            reason.push_str(&text);
        };
        if let Some(min) = self.min_turns.filter(|min| turns < *min) {
            outside(format!("below minimum of {min}"));
        }
        if let Some(max) = self.max_turns.filter(|max| turns > *max) {
            outside(format!("above maximum of {max}"));
        }
        if let Some((low, high)) = self.target_range.filter(|(low, high)| turns < *low || turns > *high) {
            outside(format!("outside target range {low}-{high}"));
        }
        if let Some(optimal) = self.optimal_turns {
            if turns == optimal {
                reason.push_str(", the optimal number");
            } else {
                reason.push_str(&format!(", {} turns from optimal {optimal}", turns.abs_diff(optimal)));
            }
        }
        Outcome::decided(holds, reason)
    }
}
