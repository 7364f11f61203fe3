//! The numbers of a run: the shape of `report.json`.
//!
//! A summary is a function of the store: made again from the same run, it has the same bytes.

use std::collections::BTreeMap;

use scenario::{CaseId, Digest, RunId, TrialId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Blame, FailureKind, Role, Tokens, Trial, latency::Quantiles, pace::Throttling, tally::Counts};

/// Bumped when a field changes its meaning or goes away; new fields do not bump it.
pub const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gabfest report")]
pub struct Summary {
    pub schema_version: u32,
    pub run: Run,
    pub verdict: RunVerdict,
    pub gates: Vec<Gate>,
    pub summary: Totals,
    pub cases: Vec<CaseSummary>,
    /// How long the run took; `null` while it is going on.
    #[serde(default)]
    pub wall: Option<Wall>,
    #[serde(default)]
    pub by_agent: Vec<AgentSummary>,
    /// A scenario counts under each of its tags.
    #[serde(default)]
    pub by_tag: Vec<TagSummary>,
    #[serde(default)]
    pub by_axis: Vec<AxisSummary>,
    #[serde(default)]
    pub by_check: Vec<CheckSummary>,
    /// What is stored and cannot be read back; absent where all can.
    #[serde(default, skip_serializing_if = "Unreadable::is_none")]
    pub unreadable: Unreadable,
}

/// What is stored of a run and cannot be read back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// Trials of which nobody can say how they ended. Each is an ERROR of kind `unreadable`, and `gabfest resume` plays it again.
    pub records: u64,
    /// Trials that count and whose transcripts cannot be read.
    pub transcripts: u64,
    /// The first 100 of both, in the plan's order.
    pub trials: Vec<UnreadableTrial>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableTrial {
    /// Its place in the plan, from 0.
    pub number: u64,
    pub trial_id: TrialId,
    pub case_id: CaseId,
    /// From 0.
    pub repeat: u32,
    pub reason: String,
}

impl Unreadable {
    const LISTED: usize = 100;

    #[must_use]
    pub fn is_none(&self) -> bool {
        self.records == 0 && self.transcripts == 0
    }

    /// Takes a trial whose record cannot be read.
    pub fn add_record(&mut self, trial: &Trial) {
        self.records += 1;
        let reason = trial.failure.as_ref().map(|failure| failure.message.as_str());
        self.list(trial, reason.unwrap_or_default());
    }

    /// Takes a trial whose transcript cannot be read.
    pub fn add_transcript(&mut self, trial: &Trial, reason: &str) {
        self.transcripts += 1;
        self.list(trial, &format!("its transcript cannot be read: {reason}"));
    }

    fn list(&mut self, trial: &Trial, reason: &str) {
        if self.trials.len() < Self::LISTED {
            self.trials.push(UnreadableTrial {
                number: trial.number,
                trial_id: trial.trial_id.clone(),
                case_id: trial.case_id.clone(),
                repeat: trial.repeat,
                reason: reason.to_owned(),
            });
        }
    }
}

/// From the start of a run to its end, with the time between an interruption and `gabfest resume`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wall {
    pub duration_ms: u64,
    /// Of the conversations and turns of `summary`; `null` where the run took no time.
    pub conversations_per_minute: Option<f64>,
    pub turns_per_second: Option<f64>,
}

impl Wall {
    #[must_use]
    pub fn of(duration_ms: u64, conversations: u64, turns: u64) -> Self {
        let per = |number: u64, millis: f64| {
            (duration_ms > 0).then(|| (number as f64 * millis / duration_ms as f64 * 100.0).round() / 100.0)
        };
        Self {
            duration_ms,
            conversations_per_minute: per(conversations, 60_000.0),
            turns_per_second: per(turns, 1_000.0),
        }
    }
}

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
    /// `every_case_passes`, or `pass_rate` and `case_pass_rate`; `enough_evidence`, `every_case_judged`, `judge_available`.
    pub name: String,
    pub verdict: RunVerdict,
    /// What was required and what was found, in words.
    pub reason: String,
}

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
    /// What lost workers had spent or had in flight at their last beat and had not handed in: at most that much,
    /// as far as it was known then.
    pub unsettled_usd: f64,
    /// How often trials failed, by kind and blame.
    pub failures: Vec<FailureCount>,
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
    /// Those of `fail` that failed in an earlier attempt and not in the last one: whoever plays a failure again until it passes
    /// has no evidence that the agent does.
    #[serde(default)]
    pub replayed_failures: u64,
    /// Failures of the agent in a replay of a trial that our side broke: without the break they might have passed.
    #[serde(default)]
    pub doubtful: u64,
    pub skipped: u64,
    pub cancelled: u64,
    pub not_started: u64,
}

/// A share with an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// `null` where `n` is 0.
    pub estimate: Option<f64>,
    pub low: f64,
    pub high: f64,
    /// `wilson 95%`.
    pub method: String,
    pub n: u64,
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
    /// An agent's whole reply, without rate-limit waits.
    pub turn: Quantiles,
    /// To the first byte of content of streamed replies.
    pub ttft: Quantiles,
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
    /// Those of `fail` that failed in an earlier attempt and not in the last one: whoever plays a failure again until it passes
    /// has no evidence that the agent does.
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
}

fn one() -> f64 {
    1.0
}

impl Trials {
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Self { pass, fail, inconclusive, error, agent_errors, skipped, cancelled, .. } = *self;
        let Self { replayed_failures, doubtful, .. } = *self;
        Counts { pass, fail, inconclusive, error, skipped, cancelled, agent_errors, replayed_failures, doubtful }
    }
}

impl CaseSummary {
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Self { pass, fail, inconclusive, error, agent_errors, skipped, cancelled, .. } = *self;
        let Self { replayed_failures, doubtful, .. } = *self;
        Counts { pass, fail, inconclusive, error, skipped, cancelled, agent_errors, replayed_failures, doubtful }
    }
}
