//! Lines that the simulated user says verbatim at a certain turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

yaml::bounded! {
    /// A turn after the first one, whose line is the step's `input`.
    pub LaterTurn: u32, "integer", 2.0 to Some(500.0);
}

/// The user's line in one turn. No model is asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScriptedLine")]
pub struct ScriptedLine {
    /// The turn of the conversation, 2 to 500. The first turn is the step's `input`.
    pub turn: LaterTurn,
    /// The words that the agent gets.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub verbatim: String,
}
