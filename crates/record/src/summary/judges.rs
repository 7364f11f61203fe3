//! The figures of judges: findings by the length of the judged text, and findings that only inform.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::Rate;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judges {
    /// The findings of judged checks by the number of words that the agent said in what was judged, shortest first. A judge
    /// whose pass rate grows with the length may judge the length.
    pub by_length: Vec<JudgedLength>,
    /// Why findings only inform although the scenario requires them (`gates.judges`); absent if all judges are good enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncalibrated: Vec<Uncalibrated>,
}

/// The findings about replies or conversations of one range of length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedLength {
    pub from_words: u32,
    /// The first number of words that is too long; `null`: there is none.
    pub below_words: Option<u32>,
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error.
    pub not_judged: u64,
    pub not_applicable: u64,
    /// pass / (pass + fail)
    pub rate: Rate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncalibrated {
    pub reason: String,
    /// The number of findings that only inform for this reason.
    pub findings: u64,
}
