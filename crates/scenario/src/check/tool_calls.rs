//! `tool_calls`: the agent called the expected tools with the expected arguments.

mod call;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::call::WrittenCall;
pub use self::call::{ArgumentRule, ExpectedCall};
use super::{kind::Kind, place::Place, question::Question};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallsRule {
    pub calls: Vec<ExpectedCall>,
    pub order: CallOrder,
    pub pick: CallPick,
    #[serde(default)]
    pub by: CallBy,
}

/// Whose calls are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallBy {
    #[default]
    Agent,
    /// The simulated user, which has the `tools` of `user_simulator.gabfest`.
    User,
}

/// How the calls must match the listed ones. Each call matches one listed call at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOrder {
    /// Exactly the listed calls, in this order.
    Exact,
    /// Exactly the listed calls, in any order.
    ExactAnyOrder,
    /// All listed calls, in this order. Other calls are allowed.
    InOrder,
    /// All listed calls, in any order. Other calls are allowed.
    #[default]
    AnyOrder,
    /// Only listed calls. Not all of them are required.
    Subset,
    /// None of the listed calls.
    Forbidden,
}

/// Which calls of a tool can match a listed call.
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

/// The agent called the expected tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ToolCalls")]
pub struct Written {
    /// How the calls must match the listed ones.
    #[serde(default)]
    order: CallOrder,
    /// Which calls of a tool can match a listed call.
    #[serde(default)]
    pick: CallPick,
    /// Whose calls are compared.
    #[serde(default)]
    by: CallBy,
    /// The expected calls. With an exact order or `subset`, an empty list means no calls at all.
    #[serde(rename = "calls")]
    #[schemars(with = "Vec<WrittenCall>")]
    _calls: Vec<Value>,
}

impl Kind for ToolCallsRule {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let Written { order, pick, by, .. } = written;
        let parts = place.part.items_of("calls");
        let calls = parts.iter().filter_map(|part| call::read(part, place)).collect();
        if !matches!(order, CallOrder::Exact | CallOrder::ExactAnyOrder | CallOrder::Subset) {
            place.check_not_empty(parts.len(), "calls");
        }
        Some(Self { calls, order, pick, by })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        self.calls.iter().flat_map(ExpectedCall::questions).collect()
    }
}
