//! `conversation_length`: how many turns the conversation had.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Count;

use super::{kind::Kind, place::Place};

/// The number of turns is within a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationLength {
    /// The minimum number of turns.
    pub min_turns: Option<Count>,
    /// The maximum number of turns.
    pub max_turns: Option<Count>,
    /// The best number of turns, for the reason only.
    pub optimal_turns: Option<Count>,
    /// The minimum and the maximum number of turns.
    pub target_range: Option<(Count, Count)>,
}

impl Kind for ConversationLength {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        let turns = |count: Option<Count>| count.map(|count| u64::from(count.0));
        place.check_order(turns(written.min_turns), turns(written.max_turns), "min_turns");
        if let Some((Count(low), Count(high))) = written.target_range
            && low >= high
        {
            place.error("target_range", format!("the range [{low}, {high}] must be ascending"));
        }
        Some(written)
    }
}
