//! A list of criteria that judges go through, one by one.

use serde::{Deserialize, Serialize};

/// Each criterion is met, partly met or not met; the weighted mean of 1, 0.5 and 0 must reach the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricRule {
    pub criteria: Vec<Criterion>,
    /// 0 to 1: the weighted mean that is required.
    pub threshold: f64,
    /// The judge where there is no panel; `None`: the usual one.
    pub model_type: Option<String>,
    /// How often each judge is asked, at least 1.
    pub votes: u32,
    /// Model types that judge beside one another; empty: `model_type` alone.
    pub panel: Vec<String>,
}

impl RubricRule {
    /// How many sheets are filled in.
    #[must_use]
    pub fn ballots(&self) -> u64 {
        u64::from(self.votes).saturating_mul(self.panel.len().max(1) as u64)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub name: String,
    /// What must be true of the agent's work; empty: the name says it.
    pub text: String,
    pub weight: f64,
}
