//! The figures of parts of a run: by agent, tag, axis value and check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::{FailureCount, Rate};
use crate::latency::Quantiles;

/// The trials of one agent, one tag, or one value of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSummary {
    /// Planned.
    pub trials: u64,
    pub pass: u64,
    pub fail: u64,
    /// Those of `error` that are the agent's fault.
    pub agent_errors: u64,
    /// Those of `fail` that failed in an earlier attempt and not in the last one: whoever plays a failure again until it passes
    /// has no evidence that the agent does.
    #[serde(default)]
    pub replayed_failures: u64,
    /// Failures of the agent in a replay of a trial that our side broke: without the break they might have passed.
    #[serde(default)]
    pub doubtful: u64,
    pub inconclusive: u64,
    pub error: u64,
    pub skipped: u64,
    pub cancelled: u64,
    /// pass / (pass + fail + agent_errors).
    pub success_rate: Rate,
    /// Whole replies of the agent; `null` beyond the first 64 agents, tags and values.
    pub latency: Option<Quantiles>,
    pub unanswered_turns: u64,
    /// Of all roles, in the attempts that count: what lost attempts cost is only in the total of the run.
    pub cost_usd: f64,
    /// While there is one, `cost_usd` is a lower bound.
    pub unpriced_calls: u64,
    /// Calls whose tokens, and the cost made of them, are estimated.
    #[serde(default)]
    pub estimated_calls: u64,
    pub failures: Vec<FailureCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    pub agent: String,
    #[serde(flatten)]
    pub figures: PartSummary,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TagSummary {
    pub tag: String,
    #[serde(flatten)]
    pub figures: PartSummary,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AxisSummary {
    /// The path of the axis.
    pub parameter: String,
    pub value: serde_json::Value,
    #[serde(flatten)]
    pub figures: PartSummary,
}

/// What the checks with one name found, in the attempts that count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSummary {
    /// As the scenarios write it; `other` for all names beyond the first 200.
    pub name: String,
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error of the evaluator.
    pub not_judged: u64,
    pub not_applicable: u64,
    /// pass / (pass + fail).
    pub rate: Rate,
    /// Of the findings with a score, 0 to 1; `null` if there is none.
    pub mean_score: Option<f64>,
    /// Findings with a score.
    pub scores: u64,
}

/// How often one kind of check was judged, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSummary {
    pub check: String,
    /// Whether it is a part of the verdict; otherwise it informs.
    pub required: bool,
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error of the evaluator.
    pub not_judged: u64,
}
