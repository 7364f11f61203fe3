//! `execution_time`: the step or turn took neither too long nor too short a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Millis;

use super::{kind::Kind, place::Place};

/// The step took neither too long nor too short a time. In a conversation only the agent's own time counts: its replies
/// and its tools, but not the simulated user, judges, rate-limit waits or retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionTime {
    /// The maximum, in milliseconds.
    pub max_duration_ms: Millis,
    /// The minimum, in milliseconds.
    pub min_duration_ms: Option<Millis>,
    /// The target of the rating in the reason, in milliseconds.
    pub target_duration_ms: Option<Millis>,
}

impl Kind for ExecutionTime {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        let shortest = written.min_duration_ms.map(|time| time.0);
        place.check_order(shortest, Some(written.max_duration_ms.0), "min_duration_ms");
        Some(written)
    }
}
