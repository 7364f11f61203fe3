//! The response to one request: from a connection, or from a chat model that plays the agent.

use llm::{
    Receipt, call,
    chat::{self, Finish},
};
use record::turn::{Note, Said, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Response {
    pub(crate) text: String,
    /// Every message, in order, if there are several; otherwise empty.
    pub(crate) messages: Vec<Said>,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) actions: Vec<String>,
    /// Extra information to keep, such as what a program wrote to stderr.
    pub(crate) notes: Vec<Note>,
    /// Of a chat model.
    pub(crate) finish: Option<Finish>,
    /// Of a chat model: see [`chat::Reply::echo`].
    pub(crate) echo: Option<Box<Value>>,
    /// Boxed as in [`chat::Reply`].
    pub(crate) receipt: Box<Receipt>,
}

impl Response {
    /// Whether there is no text and no action.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.tool_calls.is_empty() && self.actions.is_empty()
    }
}

/// Several messages without positions of tool calls: the calls come first. A single message needs no list.
pub(crate) fn several(texts: &[String]) -> Vec<Said> {
    let said = |text: &String| Said { text: text.clone(), tool_calls_before: u32::MAX };
    if texts.len() > 1 { texts.iter().map(said).collect() } else { Vec::new() }
}

impl call::Reply for Response {
    fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    fn receipt_mut(&mut self) -> &mut Receipt {
        &mut self.receipt
    }

    fn finish(&self) -> Option<Finish> {
        self.finish
    }
}

impl From<chat::Reply> for Response {
    fn from(reply: chat::Reply) -> Self {
        let tool_calls = reply.tool_calls.into_iter().map(|call| ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
            result: None,
        });
        let notes = reply.notes.into_iter().map(|note| Note { kind: note.kind, text: note.text });
        Self {
            text: reply.text,
            messages: Vec::new(),
            tool_calls: tool_calls.collect(),
            actions: reply.actions,
            echo: reply.echo,
            notes: notes.collect(),
            finish: Some(reply.finish),
            receipt: reply.receipt,
        }
    }
}
