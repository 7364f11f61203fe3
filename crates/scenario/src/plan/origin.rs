//! The recorded run that a plan plays or judges again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RunId;

/// The recorded run that a plan plays or judges again. Nothing of such a run is a new sample of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    pub run: RunId,
    pub how: Again,
    /// The endpoint that judges again; `None`: the judges of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
}

/// What is done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// Every call is answered from the recording.
    Replay,
    /// The judged checks are asked again about the recorded conversations.
    Rejudge,
}
