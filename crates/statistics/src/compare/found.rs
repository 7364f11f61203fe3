//! What a comparison finds: the shape of `gabfest compare --json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{nights::NightsFound, played::RunName, rate::Within};
use crate::sentinels::SentinelsCompared;

/// Bumped when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gabfest compare")]
pub struct Comparison {
    pub schema_version: u32,
    pub base: RunName,
    pub new: RunName,
    pub verdict: CompareVerdict,
    /// Cases whose outcome is `worse`, without those in quarantine.
    pub worse_cases: u64,
    pub rate: RateFound,
    /// Times, tokens and cost.
    pub figures: Vec<FigureFound>,
    /// By scenario, persona and tag.
    pub groups: Vec<GroupFound>,
    /// The checks with a name, in alphabetical order.
    #[serde(default)]
    pub checks: Vec<CheckFound>,
    /// Every case of either run, in the order of NEW's plan; those that only BASE has come last.
    pub cases: Vec<CaseFound>,
    pub contract: Contract,
    /// What the history says about the difference; absent if it has too few nights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nights: Option<NightsFound>,
    /// Whether the judge is the same in both; absent without sentinels in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinels: Option<SentinelsCompared>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompareVerdict {
    /// The success rate rose, and no case is worse.
    Better,
    /// The success rate fell by less than the margin, and no case is worse.
    NotWorse,
    /// The success rate fell, or a case is worse.
    Worse,
    /// Too few trials to say either.
    CannotTell,
}

/// The success rate over the cases that both runs have, each case counting once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFound {
    pub margin: f64,
    pub within: Within,
    /// The rate is higher, and the chance of a difference as large is at most 1 in 20, whatever the undecided trials would have said.
    #[serde(default)]
    pub rose: bool,
    /// Cases that are compared, and their scenarios.
    pub cells: u64,
    pub scenarios: u64,
    /// The interval holds for scenarios like these; otherwise only for these: there are fewer than six, or all of them differ equally, so nothing is
    /// known about how much scenarios differ.
    pub clustered: bool,
    pub base_pass: u64,
    pub base_trials: u64,
    pub new_pass: u64,
    pub new_trials: u64,
    /// Cells that both runs have and that are left out, because NEW has them in quarantine.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub quarantined: u64,
    /// Trials of these cases that say nothing about the agent.
    pub base_undecided: u64,
    pub new_undecided: u64,
    /// What the difference can be, whatever the undecided trials would have said (Manski bounds): if those of NEW fail and those of BASE
    /// pass, and the reverse. Absent without such trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_difference: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_difference: Option<f64>,
    /// The undecided trials could change the answer, so there is none.
    pub decided_by_undecided: bool,
    /// `null` if nothing can be compared, as all below.
    pub base_rate: Option<f64>,
    pub new_rate: Option<f64>,
    pub difference: Option<f64>,
    /// 95 % one-sided limits of the difference.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The chance of a difference as large if both rates are equal.
    pub chance_if_equal: Option<f64>,
    /// The chance of a NEW as good if it is worse by the margin; `null` if all trials agree or all scenarios differ equally, because nothing is known about how much they differ.
    pub chance_if_worse_by_margin: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    ResponseP50Ms,
    ResponseP95Ms,
    TtftP50Ms,
    TtftP95Ms,
    /// Of the agent, in a conversation.
    AgentTokensP50,
    /// Of all roles, in a conversation.
    CostP50Usd,
    CostP95Usd,
}

/// A quantile in both runs. `null` stands for a quantile among turns without an answer, for an end that the trials do not bound,
/// and for what has too few values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureFound {
    pub figure: Figure,
    pub base: Option<f64>,
    pub new: Option<f64>,
    pub difference: Option<f64>,
    /// 95 % one-sided limits of the difference.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// `null` if the interval contains 0, or if the difference is below 10 % or, of times, 10 ms.
    pub changed: Option<Direction>,
    /// A side has fewer values than the report needs to state the percentile.
    #[serde(default)]
    pub too_few: bool,
    /// Values on both sides.
    pub base_values: u64,
    pub new_values: u64,
    /// Turns without an answer, which count as infinite.
    pub base_unanswered: u64,
    pub new_unanswered: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    Scenario,
    Persona,
    Tag,
}

/// The cases of a scenario, a persona or a tag that both runs have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupFound {
    pub kind: GroupKind,
    pub name: String,
    pub cells: u64,
    pub worse_cases: u64,
    pub better_cases: u64,
    pub base_pass: u64,
    pub base_trials: u64,
    pub new_pass: u64,
    pub new_trials: u64,
    pub difference: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseFound {
    pub title: String,
    pub variant: Option<String>,
    pub persona: Option<String>,
    /// By path, as JSON.
    pub parameters: BTreeMap<String, String>,
    /// If a run has several agents.
    pub agent: Option<String>,
    /// `null` where the run does not have the case.
    pub base: Option<SideFound>,
    pub new: Option<SideFound>,
    pub outcome: Outcome,
    /// Trials with the same seed are compared with each other.
    pub paired: bool,
    /// The exact chance, two-sided, of outcomes that differ as much if the agent passes as often; `null` without results.
    pub chance: Option<f64>,
    /// `chance`, adjusted for the number of cases.
    pub adjusted: Option<f64>,
    /// The response time of a conversation's median turn.
    pub response_ms: Option<Moved>,
    /// The cost of a conversation.
    pub cost_usd: Option<Moved>,
    /// What of the case itself differs: `scenario`, `persona`.
    pub differs: Vec<String>,
    /// NEW has it in quarantine: it is compared by itself, and the verdict does not depend on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SideFound {
    pub pass: u64,
    pub fail: u64,
    /// Planned trials that say nothing about the agent.
    pub undecided: u64,
}

/// How the outcomes of a case changed. `worse` and `better` are tested, at most 5 % of them are expected to be false; the others
/// describe what was seen, and may be chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Worse,
    /// It passed every time, and now fails every time; too few trials to call it worse.
    NewlyFailing,
    /// It passed, or failed, every time, and now does both.
    Flakier,
    Better,
    /// The reverse of `newly_failing`.
    Fixed,
    /// The reverse of `flakier`.
    MoreStable,
    Same,
    /// A side has no result.
    Undecided,
    /// Only NEW has it.
    New,
    /// Only BASE has it.
    Gone,
}

/// The median of a figure of a case's conversations in both runs; `null` among turns without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    pub base: Option<f64>,
    pub new: Option<f64>,
    pub chance: f64,
    pub adjusted: f64,
    /// Set if the figure moved by 10 % or more (a time also by 10 ms), and at most 5 % of such findings are expected to be false.
    pub changed: Option<Direction>,
}

/// A check with a name, over the cases in which both runs have it. A trial passes if the check passes wherever it applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFound {
    pub name: String,
    /// Cases in which both runs have it.
    pub cells: u64,
    /// The trials of all cases; `null` if it applies to no trial of the run.
    pub base: Option<SideFound>,
    pub new: Option<SideFound>,
    pub outcome: CheckOutcome,
    /// The mean over the cases of both runs, each counting once; `null` if none has a result in both.
    pub base_rate: Option<f64>,
    pub new_rate: Option<f64>,
    pub difference: Option<f64>,
    /// 95 % one-sided limits of the difference.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The exact chance, two-sided, of findings that differ as much if every case passes as often in both runs.
    pub chance: Option<f64>,
    /// `chance`, adjusted for the number of names.
    pub adjusted: Option<f64>,
}

/// `worse` and `better` are tested, at most 5 % of them are expected to be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Worse,
    Better,
    Same,
    /// No case has a result in both runs.
    Undecided,
    /// Only NEW has it.
    New,
    /// Only BASE has it.
    Gone,
}

/// What differs between the runs besides the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contract {
    pub compared: u64,
    pub only_base: u64,
    pub only_new: u64,
    /// Compared cases whose trials have the same seeds.
    pub paired: u64,
    /// Compared cases whose scenario or persona differs.
    pub changed_cases: u64,
    /// A report of an earlier version has no digests, so only names and models are compared.
    pub has_digests: bool,
    pub differences: Vec<ContractDifference>,
}

/// `judge`: `gpt-4.1` and `gpt-5`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractDifference {
    /// `scenario`, `persona`, `endpoint`, `model` or `gabfest`.
    pub what: String,
    pub name: String,
    /// `null` where the run does not have it.
    pub base: Option<String>,
    pub new: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CaseFound {
    /// Whether the verdict depends on it being worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.outcome.is_worse() && !self.quarantined
    }
}

impl Outcome {
    #[must_use]
    pub fn is_worse(self) -> bool {
        self == Self::Worse
    }
}
