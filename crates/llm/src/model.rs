//! The one trait of this crate, and what goes in and comes out.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;

use crate::Error;

/// Something that answers a list of messages.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// The endpoint's name in the settings.
    fn endpoint(&self) -> &str;

    /// The model that is asked for, as the settings name it. A server may answer under a longer name.
    fn name(&self) -> &str {
        self.endpoint()
    }

    /// Method and address, as errors name them; empty for what is not reached by HTTP.
    fn place(&self) -> String {
        String::new()
    }

    /// Why nobody can ask it: the key of its endpoint is not there. `None`: it can be asked.
    fn absence(&self) -> Option<&str> {
        None
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error>;

    /// As [`Self::ask`], and a call that fails says what it took. Who repeats calls knows; others make one try.
    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        self.ask(request).await.map_err(Failed::once)
    }
}

#[async_trait]
impl<M: Model + ?Sized> Model for Arc<M> {
    fn endpoint(&self) -> &str {
        (**self).endpoint()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn place(&self) -> String {
        (**self).place()
    }

    fn absence(&self) -> Option<&str> {
        (**self).absence()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        (**self).ask(request).await
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        (**self).call(request).await
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    pub task: Task,
    pub messages: Vec<Message>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// The same seed and messages should give the same reply; models that cannot promise it ignore it.
    pub seed: Option<u64>,
    /// OpenAI `tools`, as they are sent.
    pub tools: Vec<Value>,
    /// A JSON Schema that the reply should satisfy (`response_format: json_schema`).
    pub schema: Option<Value>,
    /// Added to the request's body as they are (agents that understand plugins).
    pub extra: serde_json::Map<String, Value>,
    /// For the whole call with its retries, waits for permits apart; the endpoint's own limit for one try holds too.
    pub timeout: Option<Duration>,
    pub context: Context,
}

/// What is wanted of the messages. Models do not all know each of them; one that is not known is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Task {
    /// What comes next in the conversation.
    #[default]
    Complete,
    /// A vector for each message: near ones mean alike.
    Embed,
    /// How far the first message falls into each category of harm, 0 to 1, as labels of the reply.
    Moderate,
    /// The part of the second message that answers the first, as the reply's text; empty where none does.
    Extract,
    /// How well the second message follows the first, as log-odds under the label `follows`.
    Follow,
}

impl Request {
    /// Asks for something else than words, which no `max_tokens` of output are set aside for.
    #[must_use]
    pub fn measure(task: Task, texts: &[&str]) -> Self {
        let messages = texts.iter().map(|text| Message::user(*text)).collect();
        Self { task, messages, max_tokens: Some(0), ..Self::default() }
    }
}

/// What the call is for: never part of the prompt. The mock model answers by it, servers get it as headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// `agent`, `user_sim`, `judge` or `scorer`.
    pub role: String,
    pub run: String,
    pub scenario: String,
    pub persona: String,
    /// The conversation's id: no other run and no other attempt at the trial has it, so that agents may keep state by it.
    pub conversation: String,
    /// The trial's id: the same in every run of the plan and in every attempt.
    pub trial: String,
    /// The id of the trial's case: the same in every run of the plan. Not a header.
    pub case: String,
    /// From 1.
    pub turn: u32,
    /// Which question of this role in this turn, from 0.
    pub call: u32,
    /// The same for every try of the same call: (run, trial, attempt, turn, call).
    pub idempotency_key: String,
    /// Which try of this call, from 0; counted by the retry layer.
    pub try_number: u32,
    /// Where the conversation's tools are called by HTTP, for an agent that calls them itself; empty where nowhere.
    pub tools_url: String,
    /// The same tools as a server of the Model Context Protocol.
    pub mcp_url: String,
    /// Where whoever asks tells of this call in traces.
    pub trace: Option<Trace>,
    /// For the mock model in this process only: no server ever sees it.
    pub cue: Option<Arc<Cue>>,
}

/// A place in a trace, as W3C Trace Context has it: what a server traces of its own hangs below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    pub id: u128,
    pub span: u64,
    /// Whether the trace is kept, as far as that is known before its end.
    pub sampled: bool,
}

/// What an agent that does as the scenario expects would answer. The mock agent answers so where it is drawn to
/// pass, so that scripted scenarios can be played without a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cue {
    pub text: String,
    /// Made before the text is said; without ids.
    pub tool_calls: Vec<ToolCall>,
    pub actions: Vec<String>,
    /// Given beside the text.
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message {
    pub role: Speaker,
    pub content: String,
    /// Addresses of images shown with the text.
    pub images: Vec<String>,
    /// Of an assistant's message.
    pub tool_calls: Vec<ToolCall>,
    /// Of a tool's message: the call that it answers.
    pub tool_call_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speaker {
    System,
    #[default]
    User,
    Assistant,
    Tool,
}

impl Speaker {
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
    /// What the tool gave, where an agent runs its tools itself and tells of it.
    pub result: Option<String>,
}

impl Message {
    #[must_use]
    pub fn new(role: Speaker, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), ..Self::default() }
    }

    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Speaker::System, content)
    }

    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Speaker::User, content)
    }

    #[must_use]
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Speaker::Assistant, content)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub text: String,
    /// Every message, in order, where the reply came in several; else empty.
    pub messages: Vec<Said>,
    pub tool_calls: Vec<ToolCall>,
    /// Actions that an agent reports besides tool calls (`message.actions`).
    pub actions: Vec<String>,
    /// One for each message of [`Task::Embed`], all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// Named numbers, of [`Task::Moderate`] and [`Task::Follow`].
    pub labels: Vec<(String, f64)>,
    /// As the server names it: `stop`, `length`, `tool_calls`, `content_filter`, …
    pub finish_reason: Option<String>,
    pub usage: Usage,
    /// The model that answered, as the server names it.
    pub model: String,
    pub timing: Timing,
    /// 1 unless a try was repeated.
    pub tries: u32,
    /// Tries that were answered with 429.
    pub throttled_tries: u32,
    /// Tries before this one that may have been charged, though nobody knows for what; 0 where calls are free.
    pub lost_tries: u32,
    /// In nano-dollars; `None` where the endpoint has no price.
    pub cost_nanos: Option<i64>,
    /// What came beside the reply and is worth keeping, such as what a program wrote to stderr.
    pub notes: Vec<Note>,
}

/// One of several messages of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// How many of the reply's tool calls were made before it; more than there are: all of them.
    pub tool_calls_before: u32,
}

impl Said {
    /// Messages of which nobody knows when the tools were called: the calls stand first. One message is no list.
    #[must_use]
    pub fn several(texts: &[String]) -> Vec<Self> {
        let said = |text: &String| Self { text: text.clone(), tool_calls_before: u32::MAX };
        if texts.len() > 1 { texts.iter().map(said).collect() } else { Vec::new() }
    }
}

/// A call that gave no reply, and what it took: the numbers that a [`Reply`] has too.
#[derive(Debug, Clone)]
pub struct Failed {
    /// Of the last try.
    pub error: Error,
    pub effort: Effort,
}

/// What a call took that gave no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// 0 where nothing was sent.
    pub tries: u32,
    /// Tries that were answered with 429.
    pub throttled_tries: u32,
    /// Tries before the last one that may have been charged.
    pub lost_tries: u32,
    /// For permits, of all tries.
    pub waited: Duration,
    /// For earlier tries and the pauses after them, without the waits for permits.
    pub retried: Duration,
}

impl Failed {
    /// In its only try.
    #[must_use]
    pub fn once(error: Error) -> Self {
        let throttled_tries = u32::from(matches!(error, Error::Throttled { .. }));
        let tries = u32::from(!matches!(error, Error::Unwritable { .. } | Error::NoKey { .. }));
        Self { error, effort: Effort { tries, throttled_tries, ..Effort::default() } }
    }
}

/// Something to be kept with a turn besides its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is, in one word: `stderr`, `answer`, …
    pub kind: String,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The server did not say; these were estimated from the text.
    pub estimated: bool,
}

/// Measured on the monotonic clock from the request being handed to a warm connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// For a permit of the limiter.
    pub wait: Duration,
    /// For a connection, before the request was handed to it; `None` where one was there already. No part of `total`.
    pub connect: Option<Duration>,
    /// Between the request and the first byte of content; `None` when the reply was not streamed.
    pub first_token: Option<Duration>,
    /// Mean between pieces of content of a streamed reply.
    pub inter_token: Option<Duration>,
    /// To the last byte, of the last try.
    pub total: Duration,
    /// For earlier tries and the pauses after them, without the waits for permits. No part of `total`.
    pub retried: Duration,
}
