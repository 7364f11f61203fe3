//! `latency`: how long the agent's replies took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Millis;

use super::{kind::Kind, place::Place};

/// No reply of the agent took longer. Rate-limit waits do not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The maximum time to the end of a reply, in milliseconds.
    pub max_total_ms: Option<Millis>,
    /// The maximum time to the first token of a streamed reply, in milliseconds.
    pub max_ttft_ms: Option<Millis>,
}

impl Kind for Latency {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_one_of(&["max_total_ms", "max_ttft_ms"]);
        Some(written)
    }
}
