//! `trajectory_contains_action`: the agent called a tool or reported an action of this name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

use super::{kind::Kind, place::Place};

/// The agent called a tool or reported an action of this name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryContainsAction {
    /// The name of the action. Case, underscores, hyphens and spaces do not count.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub action: String,
}

impl Kind for TrajectoryContainsAction {
    type Written = Self;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
