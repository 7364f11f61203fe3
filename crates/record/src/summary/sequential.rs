//! The decision of a run that stops when it is decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunVerdict;

/// Trials are consumed in rounds: repeat r of every case that plays, when all of them have ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequential {
    /// `null` while the run is not decided and has repeats left; `INCONCLUSIVE` if it has none.
    pub verdict: Option<RunVerdict>,
    /// The rounds that were consumed, and the most that the plan allows.
    pub repeats: u64,
    pub most_repeats: u64,
    /// Conversations that the decision rests on, and the most that the plan allows. Those that were under way at the decision are
    /// not consumed.
    pub consumed: u64,
    pub most_conversations: u64,
    /// The largest chance of a false PASS and of a false FAIL.
    pub false_pass: f64,
    pub false_fail: f64,
    /// The mean success rate of all cases.
    pub mean: SequentialRate,
    /// Each case against its floor, in the plan's order.
    pub cases: Vec<SequentialCase>,
}

/// What a decision about a rate rests on. Trials without an outcome count as failures in the evidence for PASS, and as passes in
/// the evidence for FAIL.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialRate {
    /// PASS: the rate is above `bad`. FAIL: it is below `good`.
    pub bad: f64,
    pub good: f64,
    pub trials: u64,
    pub pass: u64,
    pub fail: u64,
    /// `null`: not decided.
    pub verdict: Option<RunVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialCase {
    /// The case's place in the plan, from 0.
    pub case: u64,
    /// `null`: without a floor.
    pub floor: Option<f64>,
    /// Its first trials, which were consumed.
    pub trials: u64,
    pub pass: u64,
    pub fail: u64,
    /// `null`: not decided, or without a floor.
    pub verdict: Option<RunVerdict>,
}
