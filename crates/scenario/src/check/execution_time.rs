//! `execution_time`: the step or turn took neither too long nor too short a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Millis;

use super::{kind::Kind, place::Place};

/// The step took neither too long nor too short a time. Of a conversation only the agent's own time counts: its replies
/// and its tools, and neither the simulated user, judges, waits for permits nor repeated tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionTime {
    /// The longest time, in milliseconds.
    pub max_duration_ms: Millis,
    /// The shortest time, in milliseconds.
    pub min_duration_ms: Option<Millis>,
    /// The time that is rated best, in milliseconds.
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
