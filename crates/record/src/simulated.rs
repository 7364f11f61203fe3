//! The record of a simulated line in addition to its text.

use serde::{Deserialize, Serialize};

use crate::{turn::ToolCall, user_fault::UserFault};

/// The record of a simulated line in addition to its text. A turn has it only if it is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Simulated {
    /// Drafts that were refused before this line.
    pub sent_back: u32,
    /// Turns that the model saw only in a summary, since the whole conversation is beyond its budget.
    pub summed_up: u32,
    /// Parts of the goal that the user believes to be done after this exchange.
    pub parts_done: Vec<String>,
    /// Faults of the drafts that were refused, and of the line that the agent got.
    pub faults: Vec<UserFault>,
    /// The line as the model wrote it, if the user's way of typing changed it.
    pub untyped: Option<String>,
    /// The user's state in which the line was said.
    pub state: Option<String>,
    /// Questions of the user's state that no judge answered after this exchange. Each counted as a no.
    pub failed_asks: u32,
    /// What the user did with its own tools before it said the line.
    pub calls: Vec<ToolCall>,
}

impl Simulated {
    /// `None` if it is empty.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
