//! The load of a run: what was scheduled, what was sent, and how far starts kept to their times.

use scenario::load::StepVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Drift, Rate};
use crate::{latency::Quantiles, runner::Runner};

/// `scheduled` = `sent` + `dropped` + `lost`, always.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Conversations whose time has come. Slots have no times: of their conversations those that began.
    pub scheduled: u64,
    /// The agent was asked.
    pub sent: u64,
    /// No slot was free in time, so the agent was not asked. They say nothing about the agent.
    pub dropped: u64,
    /// Neither sent nor dropped: the run stopped before, or workers crashed.
    pub lost: u64,
    /// Those of `sent` that were leased to a worker again: theirs was lost, whether they had begun or not, or their attempt broke.
    /// They count for quality and not for latency.
    pub rescheduled: u64,
    /// Those of all that belong to the warm-up. Apart from these counts, only the cost and the tokens of the run have them.
    pub warm_up: u64,
    /// How much later than its time each arrival started, first attempts after the warm-up; `null` without arrivals.
    pub late: Option<Quantiles>,
    /// How loaded the machines of workers were; `null` without measurements.
    #[serde(default)]
    pub runner: Option<Runner>,
    /// What changed while the pace was steady; `null` in reports of earlier versions.
    #[serde(default)]
    pub drift: Option<Drift>,
    /// Why the figures do not show what the agent can do: it did not get the load that was asked for.
    pub invalid: Option<String>,
    pub groups: Vec<LoadGroup>,
    /// How long a slice of `slices` is, in seconds.
    pub slice_seconds: u64,
    /// Starts over time, in order; empty if all groups play in slots.
    pub slices: Vec<LoadSlice>,
    /// Quality by offered load, over time and without the warm-up: a step begins where the pace changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LoadStep>,
    /// From which load on the agent succeeds less often; `null` if none is claimed.
    #[serde(default)]
    pub knee: Option<Knee>,
    /// Why no knee is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_knee: Option<String>,
    /// Up to which load the requirements of the run hold; `null` without such requirements, or if loads have no order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Sustained>,
    /// Of a pace that searches for the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<LoadSearch>,
}

/// The search for the highest rate at which the requirements hold. A step that is undecided did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSearch {
    /// As objectives are written: what each step must meet, with 95 % confidence.
    pub requirements: Vec<String>,
    /// The highest rate that held below every rate that did not, in starts a second; `null` if none did.
    pub held: Option<f64>,
    /// The lowest rate at which a requirement is broken; `null` if there is none.
    pub broke: Option<f64>,
    /// What it found, in words: `held at 40/s, broke at 45/s: p99(ttft) 2.30 s of 1,350 turns`.
    pub result: String,
    /// Why it ended; `null`: it did not.
    pub ended: Option<String>,
    /// In the order in which they were played.
    pub steps: Vec<LoadSearchStep>,
}

/// A step of a search. `Load::steps` has its quality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSearchStep {
    /// Starts a second.
    pub rate: f64,
    /// From the beginning of the load.
    pub from_seconds: f64,
    /// From then on it is measured.
    pub measured_from_seconds: f64,
    pub until_seconds: f64,
    /// `null`: the run ended before.
    pub verdict: Option<StepVerdict>,
    /// The figures that decided.
    pub reason: String,
}

/// A load group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadGroup {
    pub name: String,
    /// Its conversations start at times that are decided before the run.
    pub open: bool,
    pub scheduled: u64,
    pub sent: u64,
    pub dropped: u64,
    pub lost: u64,
}

/// Starts in a stretch of time, of all groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSlice {
    /// From the beginning of the load.
    pub from_seconds: u64,
    /// Starts that were due in it, and conversations that began in slots in it.
    pub offered: u64,
    /// Conversations that started in it; of one that was leased again, the attempt that counts.
    pub started: u64,
    /// Arrivals that were due in it and were dropped.
    pub dropped: u64,
}

/// Quality at one offered load. A conversation belongs to the step in which it was due, or began in a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStep {
    /// From the beginning of the load.
    pub from_seconds: f64,
    /// `null`: until all conversations of the slots had begun.
    pub until_seconds: Option<f64>,
    /// Starts a second that the pace asks for, the mean over the step; `null` if all groups play in slots.
    pub rate: Option<f64>,
    /// Slots that the pace asks for, the mean over the step; `null` if no group plays in slots.
    pub slots: Option<f64>,
    /// Conversations that ended and count for quality.
    pub ends: u64,
    /// Arrivals that were due in it and were dropped. They are not in `ends`.
    pub dropped: u64,
    pub pass: u64,
    pub fail: u64,
    /// Errors of the agent.
    pub agent_errors: u64,
    /// Conversations that say nothing about the agent.
    pub other_ends: u64,
    /// pass / (pass + fail + errors of the agent).
    pub success_rate: Rate,
    /// Conversations in which the simulated user made a critical fault.
    pub simulator_faults: u64,
    /// Conversations with a simulated user.
    pub simulated: u64,
    pub turns: u64,
    /// Turns without an answer.
    pub unanswered_turns: u64,
    pub response: Quantiles,
    /// Service time.
    pub turn: Quantiles,
    pub ttft: Quantiles,
    /// Of winning attempts. Calls without a price are not in it.
    pub cost_usd: f64,
    /// `cost_usd` / `pass`; `null` if none passed, or if calls have no price.
    pub cost_per_pass_usd: Option<f64>,
}

/// The load from which on the agent succeeds less often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    pub unit: KneeUnit,
    /// The highest load before the success rate falls.
    pub load: f64,
    /// With 95 % confidence, the success rate begins to fall at a load from `low` to `high`.
    pub low: f64,
    pub high: f64,
    /// Of all conversations at `load` and below.
    pub success_rate_until: Rate,
    /// Of all conversations above `load`.
    pub success_rate_beyond: Rate,
    /// The chance of such a difference if the success rate did not fall, at most.
    pub p_value: f64,
}

/// Up to which load the requirements of a run hold: its least success rate, and objectives about the success rate, errors of the
/// agent, and percentiles of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sustained {
    pub unit: KneeUnit,
    /// As objectives are written.
    pub requirements: Vec<String>,
    /// The highest load at which all of them hold with 95 % confidence, below `broken_at`; `null` if there is none.
    pub load: Option<f64>,
    /// The lowest load at which one of them is broken with 95 % confidence; `null` if there is none.
    pub broken_at: Option<f64>,
    /// Loads with too few conversations or turns to say, ascending.
    pub undecided: Vec<f64>,
}

/// What the load of a knee counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KneeUnit {
    /// Starts a second.
    Rate,
    /// Conversations at once.
    Slots,
}
