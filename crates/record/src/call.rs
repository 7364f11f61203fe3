//! One call to an agent or a model: how long it took, what it used, what it cost.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FailureKind, Role, Usd, by_model, named_limits::NamedLimits};

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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(cost: &Usd) -> bool {
    *cost == Usd(0)
}

impl Tokens {
    /// Saturates, as all of this file's sums do: figures come from workers.
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
            FailureKind::Misconfigured => Self::Unwritable,
            _ => Self::Other,
        }
    }
}

/// The assumed output tokens of a call in flight, if neither its request nor its endpoint's settings set a limit. The
/// bound on the spending of lost workers uses it.
pub const ASSUMED_OUTPUT_TOKENS: u32 = 16_384;

/// Tokens, cost and requests of calls, by role and model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<SpendEntry>", into = "Vec<SpendEntry>")]
pub struct Spend {
    /// Keyed by (role, model). Their number is limited, see [`by_model`].
    pub lines: BTreeMap<(Role, String), SpendLine>,
}

/// A stored line with its key. JSON allows only strings as keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendEntry {
    pub role: Role,
    pub model: String,
    pub line: SpendLine,
}

impl From<Vec<SpendEntry>> for Spend {
    fn from(entries: Vec<SpendEntry>) -> Self {
        let mut spend = Self::default();
        for entry in entries {
            spend.add_line(entry.role, &entry.model, entry.line);
        }
        spend
    }
}

impl From<Spend> for Vec<SpendEntry> {
    fn from(spend: Spend) -> Self {
        spend.lines.into_iter().map(|((role, model), line)| SpendEntry { role, model, line }).collect()
    }
}

/// Sums over all calls, of counted and of lost attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpendLine {
    pub calls: u64,
    pub tokens: Tokens,
    pub cost: Usd,
    /// Calls without a price, and lost tries. If there are any, the cost is a lower bound.
    pub unpriced_calls: u64,
    /// Calls whose tokens are estimated, because the endpoint did not report its usage.
    #[serde(default)]
    pub estimated_calls: u64,
    /// Requests: one for each call, and one more for each retry.
    #[serde(default)]
    pub tries: u64,
    /// Tries with a 429 as the answer.
    #[serde(default)]
    pub throttled_tries: u64,
    /// Rate-limit waits.
    #[serde(default)]
    pub wait_micros: u64,
    /// Calls of which a part of the input has no price of its own, see [`Call::plain_priced`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plain_priced_calls: u64,
    /// Calls whose reply was cut by a token limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_calls: u64,
    /// The cost of calls as far as providers themselves reported it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub reported_cost: Usd,
}

impl SpendLine {
    pub fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens.add(other.tokens);
        self.cost += other.cost;
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
        self.estimated_calls = self.estimated_calls.saturating_add(other.estimated_calls);
        self.tries = self.tries.saturating_add(other.tries);
        self.throttled_tries = self.throttled_tries.saturating_add(other.throttled_tries);
        self.wait_micros = self.wait_micros.saturating_add(other.wait_micros);
        self.plain_priced_calls = self.plain_priced_calls.saturating_add(other.plain_priced_calls);
        self.cut_calls = self.cut_calls.saturating_add(other.cut_calls);
        self.reported_cost += other.reported_cost;
    }

    /// Whether every call and every try of it was priced from usage that the endpoint reported, each part at its own
    /// price. A free call counts as priced, however many tokens it used.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let guessed = self.estimated_calls.saturating_add(self.plain_priced_calls);
        self.unpriced_calls == 0 && (guessed == 0 || self.cost == Usd(0))
    }
}

impl Spend {
    pub fn add_call(&mut self, call: &Call) {
        let line = SpendLine {
            calls: 1,
            tokens: call.tokens,
            cost: call.cost.unwrap_or_default(),
            unpriced_calls: u64::from(call.cost.is_none()) + u64::from(call.lost_tries),
            estimated_calls: u64::from(call.estimated),
            tries: u64::from(call.tries),
            throttled_tries: u64::from(call.throttled_tries),
            wait_micros: call.wait_micros,
            plain_priced_calls: u64::from(call.plain_priced),
            cut_calls: u64::from(call.finish == Some(Finish::Length)),
            reported_cost: call.reported_cost.unwrap_or_default(),
        };
        self.add_line(call.role, &call.model, line);
    }

    pub fn add_line(&mut self, role: Role, model: &str, line: SpendLine) {
        by_model::line(&mut self.lines, role, model, SpendLine::add).add(line);
    }

    pub fn add(&mut self, other: &Self) {
        for ((role, model), line) in &other.lines {
            self.add_line(*role, model, *line);
        }
    }

    /// The sum over models for one role.
    #[must_use]
    pub fn of(&self, role: Role) -> SpendLine {
        let mut sum = SpendLine::default();
        for ((whose, _), line) in &self.lines {
            if *whose == role {
                sum.add(*line);
            }
        }
        sum
    }

    #[must_use]
    pub fn cost(&self) -> Usd {
        self.lines.values().map(|line| line.cost).sum()
    }

    #[must_use]
    pub fn unpriced_calls(&self) -> u64 {
        self.lines.values().fold(0, |sum, line| sum.saturating_add(line.unpriced_calls))
    }

    #[must_use]
    pub fn estimated_calls(&self) -> u64 {
        self.lines.values().fold(0, |sum, line| sum.saturating_add(line.estimated_calls))
    }

    #[must_use]
    pub fn plain_priced_calls(&self) -> u64 {
        self.lines.values().fold(0, |sum, line| sum.saturating_add(line.plain_priced_calls))
    }

    /// Whether the cost includes everything that was spent: each call and each try was priced from reported usage. The
    /// only definition of a complete cost; for spending of killed workers see [`Self::is_whole`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lines.values().all(SpendLine::is_complete)
    }

    /// The same for a run that lost attempts with their workers: their spending is unknown, unless all known calls of
    /// the run were free.
    #[must_use]
    pub fn is_whole(&self, lost_attempts: u64, unsettled: Usd) -> bool {
        self.is_complete() && self.unknown_attempts(lost_attempts, unsettled) == 0 && unsettled == Usd(0)
    }

    /// How many of `lost_attempts` may have unknown costs: all of them, or none if all calls of the run were free.
    #[must_use]
    pub fn unknown_attempts(&self, lost_attempts: u64, unsettled: Usd) -> u64 {
        let free = |line: &SpendLine| line.unpriced_calls == 0 && line.cost == Usd(0);
        let all_free = !self.lines.is_empty() && self.lines.values().all(free) && unsettled == Usd(0);
        if all_free { 0 } else { lost_attempts }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        Call {
            role: Role::UserSim,
            endpoint: "sim".to_owned(),
            model: "m".to_owned(),
            started_micros: 0,
            wait_micros: 0,
            connect_micros: None,
            ttft_micros: None,
            inter_token_micros: None,
            total_micros: 1,
            retried_micros: 0,
            tokens: Tokens::default(),
            texts: None,
            estimated: false,
            cost: None,
            plain_priced: false,
            limits: NamedLimits::default(),
            reported_cost: None,
            finish: None,
            tries: 1,
            throttled_tries: 0,
            lost_tries: 0,
            error: None,
            error_kind: None,
            of_trial: false,
        }
    }

    #[test]
    fn a_cost_is_a_lower_bound_while_a_part_of_it_is_unknown() {
        for (cost, lost_tries, unpriced_calls) in [(Some(5), 0, 0), (Some(5), 2, 2), (None, 0, 1), (None, 2, 3)] {
            let mut spend = Spend::default();
            spend.add_call(&Call { cost: cost.map(Usd), tries: lost_tries + 1, lost_tries, ..call() });
            let line = spend.of(Role::UserSim);
            assert_eq!((line.calls, line.unpriced_calls, line.cost), (1, unpriced_calls, Usd(cost.unwrap_or(0))));
            assert_eq!((line.tries, spend.is_complete()), (u64::from(lost_tries) + 1, unpriced_calls == 0));
        }
    }

    #[test]
    fn an_estimated_cost_is_not_complete_unless_it_is_nothing() {
        for (cost, estimated, complete) in [(5, false, true), (5, true, false), (0, true, true)] {
            let mut spend = Spend::default();
            spend.add_call(&Call { cost: Some(Usd(cost)), estimated, ..call() });
            assert_eq!((spend.is_complete(), spend.estimated_calls()), (complete, u64::from(estimated)), "{cost}");
        }
    }

    #[test]
    fn a_part_without_a_price_of_its_own_makes_the_cost_incomplete() {
        for (cost, plain_priced, complete) in [(5, false, true), (5, true, false), (0, true, true)] {
            let mut spend = Spend::default();
            spend.add_call(&Call { cost: Some(Usd(cost)), plain_priced, ..call() });
            assert_eq!(
                (spend.is_complete(), spend.plain_priced_calls()),
                (complete, u64::from(plain_priced)),
                "{cost}"
            );
        }
    }

    #[test]
    fn every_kind_of_token_and_cut_replies_are_added_up() {
        let tokens = Tokens { input: 10, output: 5, cached_input: 4, cache_write: 3, reasoning: 2 };
        let mut spend = Spend::default();
        for finish in [Some(Finish::Length), Some(Finish::Stop), None] {
            spend.add_call(&Call { tokens, finish, reported_cost: Some(Usd(7)), ..call() });
        }
        let line = spend.of(Role::UserSim);
        assert_eq!((line.cut_calls, line.reported_cost), (1, Usd(21)));
        let sum = Tokens { input: 30, output: 15, cached_input: 12, cache_write: 9, reasoning: 6 };
        assert_eq!(line.tokens, sum);
        let stored = serde_json::to_string(&spend).unwrap();
        assert_eq!(serde_json::from_str::<Spend>(&stored).unwrap(), spend);
        let none = serde_json::to_string(&Tokens { input: 1, output: 2, ..Tokens::default() }).unwrap();
        assert_eq!(none, r#"{"input":1,"output":2}"#, "views of runs without a cache stay as they were");
    }

    #[test]
    fn spending_of_lost_attempts_is_unknown_unless_all_was_free() {
        // (known cost of a call, unsettled cost of lost workers, attempts with unknown spend)
        for (cost, unsettled, unknown) in
            [(Some(Some(5)), 0, 2), (Some(None), 0, 2), (Some(Some(0)), 0, 0), (Some(Some(0)), 9, 2), (None, 0, 2)]
        {
            let mut spend = Spend::default();
            if let Some(cost) = cost {
                spend.add_call(&Call { cost: cost.map(Usd), ..call() });
            }
            assert_eq!(spend.unknown_attempts(2, Usd(unsettled)), unknown, "{cost:?} {unsettled}");
            assert!(unknown == 0 || !spend.is_whole(2, Usd(unsettled)), "{cost:?} {unsettled}");
        }
    }

    #[test]
    fn tries_throttling_and_waits_are_added_up() {
        let mut spend = Spend::default();
        for (tries, throttled_tries, wait_micros) in [(1, 0, 0), (4, 3, 700), (2, 1, 50)] {
            spend.add_call(&Call { tries, throttled_tries, wait_micros, ..call() });
        }
        let line = spend.of(Role::UserSim);
        assert_eq!((line.calls, line.tries, line.throttled_tries, line.wait_micros), (3, 7, 4, 750));
    }

    /// As version 0.4 stored it.
    #[test]
    fn a_line_of_the_last_version_is_read() {
        let stored = r#"[{"role":"judge","model":"m","line":{"calls":2,"tokens":{"input":3,"output":4},"cost":5,"unpriced_calls":1}}]"#;
        let spend: Spend = serde_json::from_str(stored).unwrap();
        let tokens = Tokens { input: 3, output: 4, ..Tokens::default() };
        let line = SpendLine { calls: 2, tokens, cost: Usd(5), unpriced_calls: 1, ..SpendLine::default() };
        assert_eq!(spend.of(Role::Judge), line);
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let tokens = Tokens { input: u64::MAX, output: 1, ..Tokens::default() };
        let most = SpendLine {
            calls: u64::MAX - 1,
            tokens,
            cost: Usd(i64::MAX),
            unpriced_calls: u64::MAX,
            tries: u64::MAX,
            wait_micros: u64::MAX,
            ..SpendLine::default()
        };
        let mut spend = Spend::default();
        for model in ["a", "a", "b"] {
            spend.add_line(Role::Judge, model, most);
        }
        let sum = spend.of(Role::Judge);
        assert_eq!((sum.calls, sum.tokens), (u64::MAX, Tokens { input: u64::MAX, output: 3, ..Tokens::default() }));
        assert_eq!((spend.cost(), spend.unpriced_calls()), (Usd(i64::MAX), u64::MAX));
    }
}
