//! `tool_calls`: the agent called the tools that it should have called.

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

/// The agent called the tools that it should have called.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ToolCalls")]
pub struct Written {
    /// How the calls made and those listed must agree.
    #[serde(default)]
    order: CallOrder,
    /// Which of several calls of one tool may answer a listed one.
    #[serde(default)]
    pick: CallPick,
    /// The calls. An empty list is for the exact orders: no tools at all.
    #[serde(rename = "calls")]
    #[schemars(with = "Vec<WrittenCall>")]
    _calls: Vec<Value>,
}

impl Kind for ToolCallsRule {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let Written { order, pick, .. } = written;
        let parts = place.part.items_of("calls");
        let calls = parts.iter().filter_map(|part| call::read(part, place)).collect();
        if !matches!(order, CallOrder::Exact | CallOrder::ExactAnyOrder | CallOrder::Subset) {
            place.check_not_empty(parts.len(), "calls");
        }
        Some(Self { calls, order, pick })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        self.calls.iter().flat_map(ExpectedCall::questions).collect()
    }
}
