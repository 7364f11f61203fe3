//! What the simulated user must not do, and who checks its lines for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

/// Who examines the lines of the simulated user for faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfCheck {
    /// Nothing.
    Off,
    /// Word lists and rules, before the agent gets a line.
    #[default]
    Rules,
    /// The rules, and a judge after the conversation. The judge is asked three questions about each line, and one for each
    /// of `violations`.
    Model,
}

/// Something that the user must not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// The rule's name, unique in the list.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub id: String,
    /// What the user does then, such as `threatens staff`.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub text: String,
    /// The trial is INCONCLUSIVE if the user does it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
}
