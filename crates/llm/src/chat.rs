//! A chat: messages in, a message and tool calls out.

use std::{marker::PhantomData, time::Duration};

use serde::{Deserialize, Serialize};
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

/// Agents that are no chat model get the same request, and answer with a reply of their own (`R`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request<R = Reply> {
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
    /// The type of the reply.
    pub reply: PhantomData<fn() -> R>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    pub text: String,
    pub tool_calls: Vec<FunctionCall>,
    /// Actions that an agent reports in addition to tool calls (`message.actions`).
    pub actions: Vec<String>,
    pub finish: Finish,
    /// For a reply with calls: what its API requires back unchanged, such as signed thinking. It belongs to the message
    /// that stores the reply.
    pub echo: Option<Box<Value>>,
    /// Extra information to keep.
    pub notes: Vec<Annotation>,
    /// Boxed: each layer of a call reserves room for a reply, and thousands of calls wait at once.
    pub receipt: Box<Receipt>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    /// A token limit cut it.
    Length,
    ToolCalls,
    /// The model refused, or a filter held the reply back.
    Refused,
    /// The server gives no reason, or an unknown one.
    #[default]
    Other,
}

impl Finish {
    /// From the reason in OpenAI's chat completions and compatible servers.
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

    /// The reason in OpenAI's chat completions.
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

impl<R: call::Reply + Clone> call::Request for Request<R> {
    type Reply = R;

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

    fn messages(&self) -> &[Message] {
        &self.messages
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

    fn answer(&self) -> Option<(&str, &[FunctionCall])> {
        Some((&self.text, &self.tool_calls))
    }
}
