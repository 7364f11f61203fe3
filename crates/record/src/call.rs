//! One call to an agent or a model: how long it took, what it used, what it cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FailureKind, Usd};

/// On whose behalf a language model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Agent,
    UserSim,
    Judge,
    /// A model that gives numbers for texts: embeddings, moderation.
    Scorer,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Agent, Self::UserSim, Self::Judge, Self::Scorer];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::UserSim => "user_sim",
            Self::Judge => "judge",
            Self::Scorer => "scorer",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

impl Tokens {
    /// Saturates, as all of this file's sums do: figures come from workers.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
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
    /// Since the trial began.
    pub started_micros: u64,
    /// For a permit of the limiter, beside and never inside the latency.
    pub wait_micros: u64,
    /// For a connection, beside and never inside the latency; `None` where one was there already.
    pub connect_micros: Option<u64>,
    /// Between handing the request to a connection and the first byte of content; `None` when not streamed.
    pub ttft_micros: Option<u64>,
    /// Mean time between tokens of a streamed reply.
    pub inter_token_micros: Option<u64>,
    /// Between handing the request to a connection and the last byte, of the last try.
    pub total_micros: u64,
    /// For earlier tries and the pauses after them, beside and never inside the latency.
    #[serde(default)]
    pub retried_micros: u64,
    pub tokens: Tokens,
    /// `None` where the endpoint has no price.
    pub cost: Option<Usd>,
    /// 1 unless a try was repeated.
    pub tries: u32,
    /// Tries before the last one that may have been charged, for nobody knows how many tokens.
    pub lost_tries: u32,
    /// What went wrong, if the call failed.
    pub error: Option<String>,
    /// What kind of thing went wrong, for figures; `None` where nothing did, and in records of before 0.4.
    #[serde(default)]
    pub error_kind: Option<ErrorKind>,
    /// Made for the trial as a whole and not for the turn that it is kept with: by a judge of more than one turn, or by
    /// a simulated user whose message never came.
    #[serde(default)]
    pub of_trial: bool,
}

/// Why a call gave nothing: one of a few words, whatever the message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No whole reply in time.
    TimedOut,
    /// 429, beyond the retries.
    Throttled,
    /// An error status, or a content filter.
    Refused,
    /// No connection, a broken one, or a server that fails.
    Unreachable,
    /// An answer that is not what the protocol says.
    Malformed,
    /// An answer with nothing in it.
    Empty,
    /// The quota or the credit is used up.
    Exhausted,
    /// The call could not be made of the settings.
    Unwritable,
    Other,
}

impl ErrorKind {
    /// As records, the wire and metrics say it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Throttled => "throttled",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Exhausted => "exhausted",
            Self::Unwritable => "unwritable",
            Self::Other => "other",
        }
    }
}

/// Of a failure that an agent's call ended with.
impl From<FailureKind> for ErrorKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::AgentTimeout | FailureKind::ConversationTimeout => Self::TimedOut,
            FailureKind::AgentThrottled => Self::Throttled,
            FailureKind::AgentRefused => Self::Refused,
            FailureKind::AgentUnreachable => Self::Unreachable,
            FailureKind::AgentMalformed => Self::Malformed,
            FailureKind::AgentEmpty => Self::Empty,
            FailureKind::ProviderExhausted => Self::Exhausted,
            FailureKind::Misconfigured => Self::Unwritable,
            _ => Self::Other,
        }
    }
}

/// What calls used, by role and by model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<SpendEntry>", into = "Vec<SpendEntry>")]
pub struct Spend {
    /// Keyed by (role, model).
    pub lines: BTreeMap<(Role, String), SpendLine>,
}

/// A line with its key, as it is stored: JSON keys are only strings.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SpendLine {
    pub calls: u64,
    pub tokens: Tokens,
    pub cost: Usd,
    /// Calls without a price and tries that were lost: while there is one, the cost is a lower bound.
    pub unpriced_calls: u64,
}

impl SpendLine {
    pub fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens.add(other.tokens);
        self.cost += other.cost;
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
    }
}

impl Spend {
    pub fn add_call(&mut self, call: &Call) {
        let line = SpendLine {
            calls: 1,
            tokens: call.tokens,
            cost: call.cost.unwrap_or_default(),
            unpriced_calls: u64::from(call.cost.is_none()) + u64::from(call.lost_tries),
        };
        self.add_line(call.role, &call.model, line);
    }

    pub fn add_line(&mut self, role: Role, model: &str, line: SpendLine) {
        // A clone of the name only when the model is new: this runs for every call.
        let key = (role, model.to_owned());
        self.lines.entry(key).or_default().add(line);
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
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_a_lower_bound_while_a_part_of_it_is_unknown() {
        let call = |cost: Option<i64>, lost_tries: u32| Call {
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
            cost: cost.map(Usd),
            tries: lost_tries + 1,
            lost_tries,
            error: None,
            error_kind: None,
            of_trial: false,
        };
        for (cost, lost_tries, unpriced_calls) in [(Some(5), 0, 0), (Some(5), 2, 2), (None, 0, 1), (None, 2, 3)] {
            let mut spend = Spend::default();
            spend.add_call(&call(cost, lost_tries));
            let line = spend.of(Role::UserSim);
            assert_eq!((line.calls, line.unpriced_calls, line.cost), (1, unpriced_calls, Usd(cost.unwrap_or(0))));
        }
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let tokens = Tokens { input: u64::MAX, output: 1 };
        let most = SpendLine { calls: u64::MAX - 1, tokens, cost: Usd(i64::MAX), unpriced_calls: u64::MAX };
        let mut spend = Spend::default();
        for model in ["a", "a", "b"] {
            spend.add_line(Role::Judge, model, most);
        }
        let sum = spend.of(Role::Judge);
        assert_eq!((sum.calls, sum.tokens), (u64::MAX, Tokens { input: u64::MAX, output: 3 }));
        assert_eq!((spend.cost(), spend.unpriced_calls()), (Usd(i64::MAX), u64::MAX));
    }
}
