//! The parts of a simulated user's goal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

/// One part of the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GoalPart")]
pub struct Part {
    /// The part's name, unique in the goal.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub id: String,
    /// What the user wants, in words for the simulator.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub text: String,
    /// Parts that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}
