//! What calls used and cost together, by role and model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Finish, Tokens, is_zero};
use crate::{Role, Usd, by_model};

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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(cost: &Usd) -> bool {
    *cost == Usd(0)
}

#[cfg(test)]
mod tests;
