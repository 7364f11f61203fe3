//! The figures of a whole run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blame, FailureKind, Role, Tokens, call_times::Throttling, tally::Counts, turn_times::Times};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    pub trials: Trials,
    /// (pass + fail) / planned.
    pub completed_rate: f64,
    /// Conversations held with a simulated user, in winning attempts.
    pub conversations: u64,
    pub turns: u64,
    /// pass / (pass + fail + errors of the agent): the rate that gates, cases, metrics and pages use.
    pub success_rate: Rate,
    /// What the interval of the success rate is about; absent in older reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_rate_scope: Option<RateScope>,
    /// What the success rate of all planned trials can be at least and at most.
    pub success_bounds: Bounds,
    /// pass / (pass + fail).
    pub judged_pass_rate: Rate,
    /// The mean of the scenarios' success rates by their weights, one weight a scenario; `null` where no trial says
    /// something about the agent.
    pub weighted_success_rate: Option<f64>,
    /// The k of pass^k that pages show for every case.
    #[serde(default)]
    pub pass_k: u32,
    pub flaky_cases: u64,
    pub latency: Latencies,
    /// By role, winning attempts and lost ones, and the preflight.
    pub tokens: BTreeMap<String, Tokens>,
    pub cost: Cost,
    /// By role, winning attempts and lost ones, and the preflight.
    pub llm_calls: BTreeMap<String, u64>,
    /// What was spent before the first trial, to ask whether agents and models answer; tokens, calls and cost have it in
    /// them. Absent where nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Preflight>,
    /// Tokens and cost by role and model.
    pub models: Vec<ModelSpend>,
    pub attempts: Attempts,
    /// What lost workers had spent or had in flight at their last heartbeat and had not delivered: at most that much,
    /// as far as it was known then.
    pub unsettled_usd: f64,
    /// The money of a run with a budget; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How often trials failed, by kind and blame.
    pub failures: Vec<FailureCount>,
}

/// The money of a run with a `max_cost`. `spent_usd`, `reserved_usd`, `unsettled_usd` and `left_usd` add up to `max_cost_usd`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The most that the run may cost.
    pub max_cost_usd: f64,
    /// The known cost of all calls, the preflight included.
    pub spent_usd: f64,
    /// Held by workers, for calls in flight and calls to come; 0 once the run has ended and its workers gave it back.
    pub reserved_usd: f64,
    /// May have been spent: calls of unknown cost, and all that lost workers held.
    pub unsettled_usd: f64,
    pub left_usd: f64,
    /// The run stopped because of it.
    pub used_up: bool,
    /// Planned trials that were not begun, or that broke because the money was used up. `gabfest resume` plays them.
    pub trials_not_played: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    pub planned: u64,
    pub pass: u64,
    pub fail: u64,
    pub inconclusive: u64,
    pub error: u64,
    /// Those of `error` that are the agent's fault.
    pub agent_errors: u64,
    /// Those of `fail` that failed in an earlier attempt and not in the last one: playing a failure again until it passes is no
    /// evidence that the agent passes.
    #[serde(default)]
    pub replayed_failures: u64,
    /// Failures of the agent in a replay of a trial that our side broke: without the break they might have passed.
    #[serde(default)]
    pub doubtful: u64,
    pub skipped: u64,
    pub cancelled: u64,
    pub not_started: u64,
}

impl Trials {
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Self { pass, fail, inconclusive, error, agent_errors, skipped, cancelled, .. } = *self;
        let Self { replayed_failures, doubtful, .. } = *self;
        Counts { pass, fail, inconclusive, error, skipped, cancelled, agent_errors, replayed_failures, doubtful }
    }
}

/// A share with an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// `null` where `n` is 0.
    pub estimate: Option<f64>,
    pub low: f64,
    pub high: f64,
    /// `wilson 95%`; `clustered 95%` for a run with enough scenarios.
    pub method: String,
    pub n: u64,
}

/// What the interval of a run's success rate is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateScope {
    /// Scenarios with a trial that says something about the agent.
    pub scenarios: u64,
    /// The interval comes from how much scenarios differ, and holds for scenarios like these. Otherwise it comes from the trials, and
    /// holds for these scenarios only.
    pub clustered: bool,
    /// How many times as large as that of independent trials the variance is: 1 or more. `null` if it is not clustered.
    pub design_effect: Option<f64>,
}

/// Bounds that hold whatever the missing trials would have said (Manski bounds).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// pass / planned: every missing trial would have failed.
    pub low: f64,
    /// (pass + missing + doubtful) / planned: every missing trial and every doubtful one would have passed.
    pub high: f64,
    /// Planned trials that say nothing about the agent, or have not ended.
    pub missing: u64,
    /// Failures of the agent in a replay of a trial that our side broke: without the break they might have passed.
    #[serde(default)]
    pub doubtful: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    #[serde(flatten)]
    pub times: Times,
    /// Turns in which the agent gave no answer (a timeout, an error, a broken connection): they have no latency, so
    /// no percentile has them in it, however long somebody waited.
    #[serde(default)]
    pub unanswered_turns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    pub total_usd: f64,
    /// Whether every call and every try was priced from usage that its endpoint reported, and lost workers left
    /// nothing behind. Where it is false, the total is a lower bound, and with `estimated_calls` an estimate.
    pub complete: bool,
    /// Calls without a price, and tries that were charged and gave nothing.
    pub unpriced_calls: u64,
    /// Calls whose tokens are estimated from the texts, because the endpoint did not report its usage.
    #[serde(default)]
    pub estimated_calls: u64,
    /// Calls with cached tokens, or tokens written to a cache, that the price does not name: they cost as much as other
    /// input. Absent: 0.
    #[serde(default, skip_serializing_if = "crate::call::is_zero")]
    pub plain_priced_calls: u64,
    /// Attempts that had begun and were lost with their workers or given up, where what they spent since their last words is
    /// unknown.
    #[serde(default)]
    pub unknown_attempts: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    pub calls: u64,
    pub tokens: Tokens,
    pub cost_usd: f64,
    /// While there is one, `cost_usd` is a lower bound.
    pub unpriced_calls: u64,
    /// Calls whose tokens, and the cost made of them, are estimated.
    pub estimated_calls: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSpend {
    pub role: Role,
    pub model: String,
    pub calls: u64,
    pub tokens: Tokens,
    pub cost_usd: f64,
    pub unpriced_calls: u64,
    /// Calls whose tokens, and the cost made of them, are estimated.
    #[serde(default)]
    pub estimated_calls: u64,
    /// Calls with cached tokens, or tokens written to a cache, that the price does not name. Absent: 0.
    #[serde(default, skip_serializing_if = "crate::call::is_zero")]
    pub plain_priced_calls: u64,
    /// Calls whose reply was cut by a token limit. Absent: 0.
    #[serde(default, skip_serializing_if = "crate::call::is_zero")]
    pub cut_calls: u64,
    /// What the provider itself says that the calls cost. Absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
    #[serde(default)]
    pub throttling: Throttling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Attempts {
    pub total: u64,
    /// Attempts that had begun and broke off because their worker was lost or gave them up. A trial that a lost worker held
    /// and had not begun is no attempt.
    pub lost: u64,
    /// Attempts that ended and of which another took the place, because the trial was played again.
    #[serde(default)]
    pub replayed: u64,
    /// Trials that were played again so.
    #[serde(default)]
    pub replayed_trials: u64,
    /// Those of `replayed` that were held against the agent: somebody had failures played again, and they still count as failures.
    #[serde(default)]
    pub replayed_failed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureCount {
    pub kind: FailureKind,
    pub blame: Blame,
    pub trials: u64,
}

/// Conversations that were lost with a worker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Losses {
    /// From the start of the run, or from the beginning of its load.
    pub after_ms: u64,
    /// Those that had begun.
    pub conversations: u64,
}
