//! `conversation_length`: the conversation had a good number of turns.

use record::FailureKind;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct ConversationLength {
    pub(crate) min_turns: Option<u32>,
    pub(crate) max_turns: Option<u32>,
    /// Only told, never fails.
    pub(crate) optimal_turns: Option<u32>,
    /// Both ends included.
    pub(crate) target_range: Option<(u32, u32)>,
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
