//! Scripted answers to the agent's tool calls, from `setup.mocks`: which one applies, and its result.

pub mod expression;
mod matching;
mod name;
pub mod state;
mod tool;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::{expression::is_equal, name::letters};
pub use matching::{Answer, Call, Found, find};
pub use tool::{Tool, tools};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mock {
    /// `None` matches any service.
    pub service: Option<String>,
    pub method: String,
    pub when: Option<When>,
    pub response: Value,
    pub response_fn: Option<String>,
    pub error: Option<MockError>,
    pub delay_ms: u64,
    /// 0 to 1: how often the call fails.
    pub failure_probability: f64,
    /// The tool's description for models.
    #[serde(default)]
    pub description: Option<String>,
    /// A JSON Schema of the tool's arguments; `None`: derived from the conditions.
    #[serde(default)]
    pub parameters: Option<serde_json::Map<String, Value>>,
    /// Paths in the state and their new values, in order. Both can contain `{{…}}`.
    #[serde(default)]
    pub set: Vec<(String, Value)>,
}

/// Conditions on a call; all that are written must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct When {
    pub args: Option<Vec<Value>>,
    pub input: Option<serde_json::Map<String, Value>>,
    pub context: Option<serde_json::Map<String, Value>>,
    pub matcher: Option<String>,
    pub partial_args: Option<Vec<Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockError {
    pub code: String,
    pub message: String,
    pub status: Option<u16>,
}
