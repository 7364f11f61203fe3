//! Rate limits of a minute that providers name in their answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitOf {
    Requests,
    /// Input and output together.
    Tokens,
    /// Input that was not read from a cache.
    InputTokens,
    OutputTokens,
}

/// The limits of a minute that an endpoint had learned when a call ended.
pub type NamedLimits = BTreeMap<LimitOf, u64>;

/// The lowest and the highest limit of several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitRange {
    pub lowest: u64,
    pub highest: u64,
}

/// A limit that an endpoint learned in a run. Where there is one, calls wait for it like for a limit of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LearnedLimit {
    pub of: LimitOf,
    /// In a minute.
    pub lowest: u64,
    /// The same as `lowest`, unless the provider named several limits.
    pub highest: u64,
    /// The first trial of the plan, by number, with a call after which the endpoint knew the limit.
    pub first_trial: u64,
}

impl LimitRange {
    #[must_use]
    pub fn one(limit: u64) -> Self {
        Self { lowest: limit, highest: limit }
    }

    pub fn merge(&mut self, other: Self) {
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }
}
