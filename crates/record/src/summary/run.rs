//! The run itself: what it was, how it ended, how long it took, and what its gates say.

use scenario::{Digest, RunId, plan::Origin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contents::Contents;
use crate::decision::Decided;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub id: RunId,
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; `null` while the run is going on.
    pub ended_at: Option<String>,
    pub seed: u64,
    pub plan_digest: Digest,
    pub gabfest_version: String,
    /// How the run ended.
    pub state: RunState,
    /// A provider's quota is used up, since the run began or was resumed: it stopped because of that.
    #[serde(default)]
    pub exhausted: bool,
    /// Why gabfest itself stopped the run. Nobody interrupted it, so its gates decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What was decided while it played, in order; absent if nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<RunDecision>,
    /// What it was made of, for comparisons; absent while it is going on, and in older reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// The recorded run that it plays or judges again; absent of other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A pause, a stop or another decision about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDecision {
    /// RFC 3339, UTC.
    pub at: String,
    /// From the start of the run.
    pub after_ms: u64,
    /// The same on the time axis of a load, which stands still in a pause; absent without a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_ms: Option<u64>,
    /// Who decided it, by the name in their certificate; absent if gabfest did, or somebody without a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(flatten)]
    pub what: Decided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    /// Every planned trial ended.
    Finished,
    /// Somebody stopped it; `gabfest resume` goes on.
    Interrupted,
    /// Somebody cancelled it for good.
    Cancelled,
}

/// What the gates say of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum RunVerdict {
    /// Every gate held.
    Pass,
    /// A gate was broken by the agent.
    Fail,
    /// No gate was broken, but there is not enough evidence to say that they hold.
    Inconclusive,
}

impl RunVerdict {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// One condition on the run and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// `every_case_passes`, or `pass_rate` and `case_pass_rate`; `enough_evidence`, `every_case_judged`, `judge_available`, `regression`; an
    /// objective as it is written.
    pub name: String,
    pub verdict: RunVerdict,
    /// What was required and what was found, in words.
    pub reason: String,
}

/// From the start of a run to its end, with the time between an interruption and `gabfest resume`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wall {
    pub duration_ms: u64,
    /// `duration_ms` without the warm-up of a load and without `stood_still_ms`: what the rates divide by. Absent if that is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<u64>,
    /// For how long a load stood still before it was continued: from each pause or stop on. Absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood_still_ms: Option<u64>,
    /// Of the conversations and turns of `summary`; `null` where nothing was measured.
    pub conversations_per_minute: Option<f64>,
    pub turns_per_second: Option<f64>,
    /// What agents wrote, in winning attempts and lost ones, without the conversations of a warm-up; `null` where nothing was
    /// measured.
    #[serde(default)]
    pub output_tokens_per_second: Option<f64>,
}

/// What rates leave out of the time of a run, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How long the warm-up of a load took.
    pub warm_up_ms: u64,
    pub stood_still_ms: u64,
}

impl Wall {
    #[must_use]
    pub fn of(duration_ms: u64, left_out: LeftOut, conversations: u64, turns: u64, output_tokens: u64) -> Self {
        let LeftOut { warm_up_ms, stood_still_ms } = left_out;
        let measured_ms = duration_ms.saturating_sub(stood_still_ms).saturating_sub(warm_up_ms);
        let per = |number: u64, millis: f64| {
            (measured_ms > 0).then(|| (number as f64 * millis / measured_ms as f64 * 100.0).round() / 100.0)
        };
        Self {
            duration_ms,
            measured_ms: (warm_up_ms + stood_still_ms > 0).then_some(measured_ms),
            stood_still_ms: (stood_still_ms > 0).then_some(stood_still_ms),
            conversations_per_minute: per(conversations, 60_000.0),
            turns_per_second: per(turns, 1_000.0),
            output_tokens_per_second: per(output_tokens, 1_000.0),
        }
    }

    /// How long the warm-up took, in milliseconds; 0 without one.
    #[must_use]
    pub fn warm_up_ms(&self) -> u64 {
        self.duration_ms.saturating_sub(self.measured() + self.stood_still_ms.unwrap_or(0))
    }

    /// What rates divide by, in milliseconds.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.measured_ms.unwrap_or(self.duration_ms)
    }
}
