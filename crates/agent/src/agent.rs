//! The two traits of this crate: an agent, and a conversation with it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use record::turn::{Note, Said, ToolCall};
use scenario::{Message, Plugin};

use crate::Tools;

/// Something that can be talked to.
#[async_trait]
pub trait Agent: Send + Sync + fmt::Debug {
    /// Its name in the settings.
    fn name(&self) -> &str;

    /// The model that it asks, or else its name: failed calls are counted under it.
    fn model(&self) -> &str {
        self.name()
    }

    /// Its system prompt, if its settings have one.
    fn system(&self) -> Option<&str> {
        None
    }

    /// Whether it uses plugins. If not, the trial notes them.
    fn understands_plugins(&self) -> bool;

    /// Whether the tools of a [`Start`] answer its tool calls. If not, the trial notes it.
    fn uses_tools(&self) -> bool {
        false
    }

    /// Whether it gets the addresses of its tools (`tools_url` and `mcp_url` of the context), since it calls them itself.
    fn calls_tools_itself(&self) -> bool {
        false
    }

    /// Why no conversation can start here, if that is known in advance.
    fn unready(&self) -> Option<String> {
        None
    }

    /// The most that its calls in flight may cost, in nano-dollars; 0 if its endpoint counts them.
    fn unsettled_nanos(&self) -> i64 {
        0
    }

    /// The limits of the agent's own connection; an endpoint has its own limits.
    fn limit(&self) -> Option<&Arc<llm::limit::Limiter>> {
        None
    }

    async fn open(&self, start: Start) -> Result<Box<dyn Session>, Error>;
}

/// The start of a conversation.
#[derive(Debug, Clone)]
pub struct Start {
    /// The conversation's id, which is unique over all runs.
    pub conversation: String,
    /// Template of every call's context (role `agent`).
    pub context: llm::Context,
    pub seed: u64,
    /// The history before the first message.
    pub opening: Vec<Message>,
    pub plugins: Vec<Plugin>,
    /// Answers its tool calls; `None` if the scenario has no mocks, or the agent uses real services.
    pub tools: Option<Arc<Tools>>,
}

/// One conversation with an agent.
#[async_trait]
pub trait Session: Send {
    /// Says something and waits for the whole answer, at most `exchange.timeout` without rate-limit waits.
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<Reply, Error>;

    /// Replaces the last answer in the history, for formats that go on with the expected answer.
    fn replace_last_answer(&mut self, answer: &Message);
}

#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The messages since the last reply, in order. If empty, the agent is asked again.
    pub messages: &'a [Message],
    /// From 1, over the trial.
    pub turn: u32,
    pub timeout: Duration,
    /// For agents that trace their work.
    pub trace: Option<llm::Trace>,
    /// For the mock agent; real agents must never see it.
    pub cue: Option<&'a Arc<llm::Cue>>,
}

/// The result of a turn. If it took several requests, the times, tokens and costs are those of the last one.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub text: String,
    /// Every message of the turn, in order, if `text` alone is not enough: several messages, or text before a tool
    /// call.
    pub messages: Vec<Said>,
    pub tool_calls: Vec<ToolCall>,
    /// How many of the turn's tool calls this request was answered with, where a turn took several requests.
    pub own_calls: usize,
    pub actions: Vec<String>,
    /// `None` if the agent does not report it.
    pub usage: Option<llm::Usage>,
    pub model: String,
    pub timing: llm::Timing,
    pub tries: u32,
    /// Tries that got a 429.
    pub throttled_tries: u32,
    /// Tries before this one that may have been charged.
    pub lost_tries: u32,
    /// `None` if the agent's endpoint has no price.
    pub cost_nanos: Option<i64>,
    /// The price does not cover a part of the tokens.
    pub plain_priced: bool,
    /// The cost that the provider itself reported.
    pub reported_cost_nanos: Option<i64>,
    /// The provider's limits per minute that are known by now.
    pub learned: llm::Allowed,
    /// Why the reply ended; `None` if the agent does not report it.
    pub finish: Option<llm::chat::Finish>,
    /// Extra information to keep with the turn.
    pub notes: Vec<Note>,
    /// The requests of this turn before the last one: each was answered with calls of tools.
    pub earlier: Vec<Reply>,
    /// The time from the message to the request.
    pub started: Duration,
    /// How long the tools took that the reply called.
    pub tools: Duration,
}

impl Reply {
    /// Every request of the turn, in order.
    pub fn requests(&self) -> impl Iterator<Item = &Self> {
        self.earlier.iter().chain([self])
    }

    /// The agent's own time over the whole turn: its requests and its tools, without waits and repeated tries.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.requests().map(|request| request.timing.total + request.tools).sum()
    }

    /// The time from the message to the end of the last request and its tools.
    #[must_use]
    pub fn ended(&self) -> Duration {
        let llm::Timing { wait, connect, retried, total, .. } = self.timing;
        self.started + wait + connect.unwrap_or_default() + retried + total + self.tools
    }
}

/// Why an agent gave no reply; it is the agent's failure unless the kind differs.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: record::FailureKind,
    pub message: String,
    /// By the request that failed.
    pub spent: Spent,
    /// The time and tokens of the failed request.
    pub effort: llm::Effort,
    /// The result of the turn before that request, if it was not the first.
    pub earlier: Option<Box<Reply>>,
}

impl Error {
    /// Of the first request of a turn.
    #[must_use]
    pub fn new(kind: record::FailureKind, message: impl Into<String>, spent: Spent) -> Self {
        Self { kind, message: message.into(), spent, effort: llm::Effort::default(), earlier: None }
    }

    /// The error of a conversation that could not start.
    pub(crate) fn before(kind: record::FailureKind, message: impl Into<String>) -> Self {
        Self::new(kind, message, Spent::Nothing)
    }
}

/// What a failed call used. It decides whether the trial's cost is exact or a lower bound.
#[derive(Debug, Clone)]
pub enum Spent {
    /// The agent turned the call away or never had it.
    Nothing,
    /// The agent may have worked on it, for an unknown number of tokens.
    Unknown,
    /// The agent answered, but not with a reply; this is the answer.
    Known(Box<Reply>),
}
