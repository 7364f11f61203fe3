//! How a simulated user ends the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

yaml::bounded! {
    /// A number of turns of a conversation.
    pub SomeTurns: u32, "integer", 1.0 to Some(500.0);
}

/// How the user ends the talk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "UserStops")]
pub struct Stops {
    /// Before so many exchanges, a user that is done or gives up is asked once more. The default is 2.
    pub min_turns: SomeTurns,
    /// With goal parts: the user gives up after so many exchanges without a newly done part. The default is 6.
    pub patience: SomeTurns,
    /// What happens to the user's last words.
    pub farewell: Farewell,
}

/// What happens to the words with which the user ends the talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Farewell {
    /// The agent does not get them.
    #[default]
    Drop,
    /// The agent gets them and answers.
    Send,
}

impl Default for Stops {
    fn default() -> Self {
        Self { min_turns: SomeTurns(2), patience: SomeTurns(6), farewell: Farewell::Drop }
    }
}
