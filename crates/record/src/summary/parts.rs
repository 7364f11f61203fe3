//! The figures of parts of a run: by agent, scenario, persona, tag, axis value and check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    goodput::GoodputFigures,
    totals::{FailureCount, Rate},
};
use crate::{breakdown::PartKind, turn_times::Times};

/// The trials of one agent, scenario, persona or tag, or of one value of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSummary {
    /// Planned.
    pub trials: u64,
    pub pass: u64,
    pub fail: u64,
    /// Those of `error` that are the agent's fault.
    pub agent_errors: u64,
    /// Those of `fail` that failed in an earlier attempt and not in the last one: playing a failure again until it passes is no
    /// evidence that the agent passes.
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
    /// `null` beyond the first 64 parts of a kind, and where no trial has ended. `other_parts` has the times of all of those.
    pub latency: Option<Times>,
    pub unanswered_turns: u64,
    /// Absent where the settings have no limits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<GoodputFigures>,
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
pub struct ScenarioSummary {
    /// As the `title` of its cases.
    pub scenario: String,
    #[serde(flatten)]
    pub figures: PartSummary,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonaSummary {
    pub persona: String,
    #[serde(flatten)]
    pub figures: PartSummary,
}

/// The times of all parts of one kind beyond the first 64: they share one series, so that memory has a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherParts {
    pub kind: PartKind,
    pub parts: u64,
    /// A trial counts once for each of its parts.
    pub latency: Times,
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
