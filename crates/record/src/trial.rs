//! One trial as it was played: its verdict and what it took, without the words (those are its turns).

use scenario::{CaseId, Strategy, TrialId};
use serde::{Deserialize, Serialize};

use crate::{Failure, Judgment, Verdict, call::Spend};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the plan, from 0.
    pub number: u64,
    pub trial_id: TrialId,
    pub case_id: CaseId,
    /// The case's place in the plan, from 0.
    pub case: u64,
    /// From 0.
    pub repeat: u32,
    /// The attempt that won, from 1: the fencing token.
    pub epoch: u32,
    pub seed: u64,
    pub verdict: Verdict,
    pub failure: Option<Failure>,
    pub strategy: Strategy,
    /// Which condition ended the last conversation; `None` where no conversation was held.
    pub termination_reason: Option<String>,
    pub turns: u32,
    /// Conversations held (steps with a simulated user).
    pub conversations: u32,
    pub duration_ms: u64,
    /// One entry a turn that the agent answered.
    pub latencies: Vec<TurnLatency>,
    pub spend: Spend,
    pub judgments: Vec<Judgment>,
    /// Keep every word of it, also when it passed.
    pub keep_transcript: bool,
}

/// How long the agent took in one turn, without the wait for permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLatency {
    pub total_micros: u64,
    pub ttft_micros: Option<u64>,
}
