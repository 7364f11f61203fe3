//! `context_retention`: the agent remembers something for some turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Count, Share};

use super::{kind::Kind, place::Place, question::Question};

/// Conversations have at most 20 turns.
const MOST_TURNS: u32 = 20;

/// The agent remembers something from earlier in the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextRetention {
    /// What the conversation mentions once and the agent must remember.
    #[schemars(length(min = 1))]
    pub test_memory_of: Vec<String>,
    /// The number of turns after the first mention.
    #[serde(default = "three")]
    pub retention_turns: Count,
    /// The minimum share remembered.
    #[serde(default = "eight_tenths")]
    pub memory_accuracy_threshold: Share,
}

impl Kind for ContextRetention {
    type Written = Self;
    const ASKS_JUDGE: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_not_empty(written.test_memory_of.len(), "test_memory_of");
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let turns = u64::from(self.retention_turns.0.min(MOST_TURNS));
        vec![Question::judge((self.test_memory_of.len() as u64).saturating_mul(turns))]
    }
}

fn three() -> Count {
    Count(3)
}

fn eight_tenths() -> Share {
    Share(0.8)
}
