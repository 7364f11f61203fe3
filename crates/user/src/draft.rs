//! A draft: what the model wrote for the simulated user, before it is sent.

use record::stop::Signal;

/// The model's answer. It is not sent before it was examined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// The person's next message; empty if the model gave none.
    pub say: String,
    /// How the person ends the talk, if it does.
    pub signal: Option<Signal>,
    /// The parts of the goal that the person believes to be done.
    pub parts_done: Vec<String>,
    /// A call of one of the person's tools, instead of a message.
    pub call: Option<UserCall>,
    /// The model's thought. It is never sent, and the model does not see it again.
    pub thought: Option<String>,
    /// The model's whole answer.
    pub raw: String,
}

/// A call of one of the person's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCall {
    pub tool: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
}

impl Draft {
    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.say.is_empty() && self.signal.is_none()
    }
}
