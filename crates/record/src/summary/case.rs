//! The figures of one case.

use scenario::{CaseId, Quarantine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    run::RunVerdict,
    totals::{Bounds, Rate},
};
use crate::tally::Counts;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseSummary {
    pub id: CaseId,
    /// Its place in the plan, from 0.
    pub number: u64,
    pub scenario: String,
    /// The scenario's name, with its file (and line) where another scenario of the run has the same name.
    #[serde(default)]
    pub title: String,
    pub format: String,
    /// The scenario's file, as the user named it.
    pub source: String,
    pub combination: Option<String>,
    /// Of knowledge bases: the question that was asked.
    #[serde(default)]
    pub variant: Option<String>,
    pub persona: Option<String>,
    pub agent: String,
    /// By parameter path.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Of its scenario, in the weighted success rate.
    #[serde(default = "one")]
    pub weight: f64,
    /// Planned.
    pub trials: u64,
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
    /// pass / (pass + fail + errors of the agent).
    pub success_rate: Rate,
    pub success_bounds: Bounds,
    /// pass / (pass + fail).
    pub judged_pass_rate: Rate,
    /// Passed at least once, and at least once failed or ended with an error of the agent; attempts that were played again count.
    pub flaky: bool,
    /// Unbiased estimates that k trials in a row all pass, for k = 1 to the number of trials in the success rate
    /// (at most 10).
    pub pass_hat_k: Vec<f64>,
    /// What the gates say of this case: FAIL where it breaks a gate, PASS also where failed trials are tolerated.
    pub verdict: RunVerdict,
    /// The entry of the quarantine, if the case has one: no gate depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
}

impl CaseSummary {
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Self { pass, fail, inconclusive, error, agent_errors, skipped, cancelled, .. } = *self;
        let Self { replayed_failures, doubtful, .. } = *self;
        Counts { pass, fail, inconclusive, error, skipped, cancelled, agent_errors, replayed_failures, doubtful }
    }
}

fn one() -> f64 {
    1.0
}
