//! A chat: messages in, a message and tool calls out.

use std::time::Duration;

use serde_json::Value;

use crate::{
    call::{self, Call},
    context::Context,
    json,
    message::{Annotation, FunctionCall, Message},
    receipt::Receipt,
};

/// A chat model, with or without layers.
pub trait Chat: Call<Request> {}

impl<C: Call<Request>> Chat for C {}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    pub messages: Vec<Message>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// The same seed and messages should give the same reply; models that cannot promise it ignore it.
    pub seed: Option<u64>,
    /// OpenAI `tools`, as they are sent.
    pub tools: Vec<Value>,
    /// A JSON Schema that the reply should satisfy (`response_format: json_schema`).
    pub schema: Option<Value>,
    /// Added to the request's body unchanged, for agents that understand plugins.
    pub extra: serde_json::Map<String, Value>,
    /// See [`call::Request::timeout`].
    pub timeout: Option<Duration>,
    pub context: Context,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub text: String,
    pub tool_calls: Vec<FunctionCall>,
    /// Actions that an agent reports besides tool calls (`message.actions`).
    pub actions: Vec<String>,
    pub finish: Finish,
    /// Of a reply with calls: what its API wants back with them word for word, such as signed thinking. It belongs to
    /// the message that remembers the reply.
    pub echo: Option<Value>,
    /// What came beside the reply and is worth keeping.
    pub notes: Vec<Annotation>,
    pub receipt: Receipt,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finish {
    Stop,
    /// A token limit cut it.
    Length,
    ToolCalls,
    /// The model refused, or a filter held the reply back.
    Refused,
    /// The server says nothing, or a word of its own.
    #[default]
    Other,
}

impl Finish {
    /// From the word of OpenAI's chat completions, and of servers that are alike.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        match word {
            "stop" | "eos" | "stop_sequence" => Self::Stop,
            "length" | "max_tokens" | "model_length" => Self::Length,
            "tool_calls" | "function_call" => Self::ToolCalls,
            "content_filter" | "refusal" => Self::Refused,
            _ => Self::Other,
        }
    }

    /// The word of OpenAI's chat completions.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::Refused => "content_filter",
            Self::Other => "other",
        }
    }
}

impl call::Request for Request {
    type Reply = Reply;

    fn context(&self) -> &Context {
        &self.context
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn again(&self, try_number: u32, timeout: Option<Duration>) -> Self {
        let mut again = Self { timeout, ..self.clone() };
        again.context.try_number = try_number;
        again
    }

    /// Messages, tools and the schema.
    fn input_bytes(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(Message::bytes).sum();
        let tools: u64 = self.tools.iter().map(json::bytes).sum();
        messages + tools + self.schema.as_ref().map_or(0, json::bytes)
    }

    fn max_output_tokens(&self) -> Option<u32> {
        self.max_tokens
    }
}

impl call::Reply for Reply {
    fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    fn receipt_mut(&mut self) -> &mut Receipt {
        &mut self.receipt
    }

    fn finish(&self) -> Option<Finish> {
        Some(self.finish)
    }
}
