//! Which tools the agent must call, or must not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Check;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallsRule {
    pub calls: Vec<ExpectedCall>,
    pub order: CallOrder,
    pub pick: CallPick,
}

/// How the listed calls and those that the agent made must agree. Each call made answers at most one listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOrder {
    /// Exactly the listed calls, in this order.
    Exact,
    /// Exactly the listed calls, in any order.
    ExactAnyOrder,
    /// All listed calls, in this order; others may stand between.
    InOrder,
    /// All listed calls, in any order; others may be made too.
    #[default]
    AnyOrder,
    /// No call but the listed ones; not all of them need be made.
    Subset,
    /// None of the listed calls.
    Forbidden,
}

/// Which of several calls of one tool may answer a listed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallPick {
    #[default]
    Any,
    /// Only the last call of the tool.
    Last,
    /// The tool must be called exactly once.
    Single,
}

/// A call as it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCall {
    /// Compared letter by letter.
    pub name: String,
    /// `None`: not looked at.
    pub arguments: Option<Vec<(String, ArgumentRule)>>,
    /// Whether the call may have arguments besides those listed.
    pub partial: bool,
    /// What the tool must have answered; `None`: not looked at, there need be no answer.
    pub result: Option<ArgumentRule>,
}

/// What one argument, or a result, must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRule {
    /// This JSON value; 1 and 1.0 are one number, and a result that is no JSON is compared as text.
    Equals(Value),
    /// The value as text (a JSON string without its quotes, any other value as JSON) satisfies all of these.
    Checks(Vec<Check>),
    /// It is there.
    Anything,
    /// It need not even be there.
    Optional,
    /// An object with these keys, and with others only where it is said to be partial.
    Fields { fields: Vec<(String, ArgumentRule)>, partial: bool },
}
