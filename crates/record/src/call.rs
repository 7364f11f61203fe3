//! One call to an agent or a model: how long it took, what it used, what it cost.

mod spend;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::spend::{ASSUMED_OUTPUT_TOKENS, Spend, SpendEntry, SpendLine};
use crate::{FailureKind, Role, Usd, named_limits::NamedLimits};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Everything that the model read, including cache reads and writes.
    pub input: u64,
    /// Everything that the model wrote, including reasoning.
    pub output: u64,
    /// Read from the provider's cache. Absent: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input: u64,
    /// Written to the provider's cache. Absent: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Written before the answer and not part of it. Absent: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(it: &bool) -> bool {
    !*it
}

impl Tokens {
    /// Saturates, as all sums of spending do: figures come from workers.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached_input = self.cached_input.saturating_add(other.cached_input);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    /// A token limit cut it.
    Length,
    ToolCalls,
    /// The model refused, or a filter held the reply back.
    Refused,
    Other,
}

impl Finish {
    /// The name in records, on the wire and in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::Refused => "refused",
            Self::Other => "other",
        }
    }
}

/// A call as it happened. Times are wall time on the worker's monotonic clock, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub role: Role,
    /// The endpoint's name in the worker's settings.
    pub endpoint: String,
    /// The model that answered, as the endpoint names it.
    pub model: String,
    /// Time since the start of the trial.
    pub started_micros: u64,
    /// Rate-limit wait, which is not part of the latency.
    pub wait_micros: u64,
    /// Time to connect, which is not part of the latency; `None` if a kept connection was used.
    pub connect_micros: Option<u64>,
    /// Between handing the request to a connection and the first byte of content; `None` when not streamed.
    pub ttft_micros: Option<u64>,
    /// Mean time between tokens of a streamed reply.
    pub inter_token_micros: Option<u64>,
    /// Between handing the request to a connection and the last byte, of the last try.
    pub total_micros: u64,
    /// Earlier tries and the pauses after them, which are not part of the latency.
    #[serde(default)]
    pub retried_micros: u64,
    pub tokens: Tokens,
    /// What was sent and answered, for traces with content. It is neither stored nor sent to the coordinator.
    #[serde(skip)]
    pub texts: Option<Arc<CallTexts>>,
    /// The endpoint did not report its usage: the tokens, and a cost computed from them, are estimated from the texts.
    #[serde(default)]
    pub estimated: bool,
    /// `None` if the endpoint has no price, or if a failed call may have been charged.
    pub cost: Option<Usd>,
    /// The price does not cover a part of the tokens (cache reads or writes), so that part costs as much as other
    /// input.
    #[serde(default, skip_serializing_if = "is_false")]
    pub plain_priced: bool,
    /// The cost of the call as the provider itself reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_cost: Option<Usd>,
    /// Why the reply ended; `None` without a reply, and for agents that do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// Number of tries, from 1.
    pub tries: u32,
    /// Tries with a 429 as the answer.
    #[serde(default)]
    pub throttled_tries: u32,
    /// Tries before the last one that may have been charged, for an unknown number of tokens.
    pub lost_tries: u32,
    /// What went wrong, if the call failed.
    pub error: Option<String>,
    /// Why the call failed, for figures; `None` if it did not fail, and in records from before 0.4.
    #[serde(default)]
    pub error_kind: Option<ErrorKind>,
    /// Made for the whole trial and not for the turn with which it is recorded: by a judge of more than one turn, or by
    /// a simulated user whose message never came.
    #[serde(default)]
    pub of_trial: bool,
    /// The provider's limits of a minute that the endpoint knew after the call; none of a call that failed.
    #[serde(default, skip_serializing_if = "NamedLimits::is_empty")]
    pub limits: NamedLimits,
}

/// What a call sent and got, redacted and bounded, in the words of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallTexts {
    /// The last message that was sent.
    pub input: String,
    /// The messages that were sent, as JSON of the GenAI conventions.
    pub input_messages: String,
    /// The answer, and the same as JSON; `None` without one.
    pub output: Option<(String, String)>,
}

impl CallTexts {
    #[must_use]
    pub fn bytes(&self) -> usize {
        let output = self.output.as_ref().map_or(0, |(text, messages)| text.len() + messages.len());
        self.input.len() + self.input_messages.len() + output
    }
}

/// Why a call failed, as one of a few kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No whole reply in time.
    TimedOut,
    /// 429, beyond the retries.
    Throttled,
    /// A status of 300 to 499, or a content filter.
    Refused,
    /// No connection, or a broken one.
    Unreachable,
    /// A status of 500 or above.
    Failed,
    /// This machine had no descriptor, port or memory left to make the call.
    OutOfResources,
    /// An answer that violates the protocol.
    Malformed,
    /// An empty answer.
    Empty,
    /// The quota or the credit is used up.
    Exhausted,
    /// The budget of the run is used up.
    NoMoney,
    /// The settings do not allow the call.
    Unwritable,
    Other,
}

impl ErrorKind {
    /// The name in records, on the wire and in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Throttled => "throttled",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Failed => "failed",
            Self::OutOfResources => "out_of_resources",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Exhausted => "exhausted",
            Self::NoMoney => "no_money",
            Self::Unwritable => "unwritable",
            Self::Other => "other",
        }
    }
}

/// The kind of call failure for a failure of the agent.
impl From<FailureKind> for ErrorKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::AgentTimeout | FailureKind::ConversationTimeout => Self::TimedOut,
            FailureKind::AgentThrottled => Self::Throttled,
            FailureKind::AgentRefused => Self::Refused,
            FailureKind::AgentUnreachable => Self::Unreachable,
            FailureKind::AgentFailed => Self::Failed,
            FailureKind::OutOfResources => Self::OutOfResources,
            FailureKind::AgentMalformed | FailureKind::AgentExcessive => Self::Malformed,
            FailureKind::AgentEmpty => Self::Empty,
            FailureKind::ProviderExhausted => Self::Exhausted,
            FailureKind::BudgetUsedUp => Self::NoMoney,
            FailureKind::Misconfigured => Self::Unwritable,
            _ => Self::Other,
        }
    }
}
