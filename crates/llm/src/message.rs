//! One message of a chat: its role, its text, its tool calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json;

/// The size of a message in addition to its text: its role and the markup around it.
const OVERHEAD_BYTES: u64 = 16;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message {
    pub role: MessageRole,
    pub content: String,
    /// Addresses of images shown with the text.
    pub images: Vec<String>,
    /// Of an assistant's message.
    pub tool_calls: Vec<FunctionCall>,
    /// Of a tool's message: the call that it answers.
    pub tool_call_id: Option<String>,
    /// Of an assistant's message: [`crate::chat::Reply::echo`] of the reply that it was.
    pub echo: Option<Box<Value>>,
}

/// Who wrote a message, as chat protocols name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageRole {
    System,
    #[default]
    User,
    Assistant,
    Tool,
}

/// A tool call as a model writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FunctionCall {
    pub id: String,
    pub name: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
}

/// Extra information to keep with a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Its kind, in one word: `stderr`, `answer`, …
    pub kind: String,
    pub text: String,
}

impl MessageRole {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl Message {
    #[must_use]
    pub fn new(role: MessageRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), ..Self::default() }
    }

    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(MessageRole::System, content)
    }

    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(MessageRole::User, content)
    }

    #[must_use]
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(MessageRole::Assistant, content)
    }

    pub(crate) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// The bytes that a model reads, as limits and prices count them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let calls: usize = self.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
        let images: usize = self.images.iter().map(String::len).sum();
        let echo = self.echo.as_deref().map_or(0, json::bytes);
        text_bytes(&self.content) + (calls + images) as u64 + echo
    }
}

/// The bytes of a message that is only a text.
pub(crate) fn text_bytes(text: &str) -> u64 {
    OVERHEAD_BYTES + text.len() as u64
}
