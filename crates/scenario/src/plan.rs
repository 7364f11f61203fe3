//! Everything that is decided before a run: its trials, their order, and their seeds.
//!
//! A plan is a value with a digest. It holds documents, not expanded scenarios, so its size does not grow with the
//! number of combinations; [`Plan::scenario`] expands one case on demand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CaseId, Goodput, Load, Objective, Persona, Quarantine, Rows, TrialId, scenario::Source};

mod bounds;
mod build;
mod called;
mod choices;
mod decide;
mod expand;
mod judge_gate;
mod names;
mod number;
mod origin;
mod personas;
mod quarantined;
mod rate_gate;
mod select;
mod stored;
mod transcripts;
mod trials;

pub use bounds::{MOST_PLAN_BYTES, MOST_TEXT_BYTES};
pub use build::build;
pub use choices::{Choices, MAX_CASES, MAX_TRIALS, MOST_COVERED};
pub use decide::Decide;
pub use judge_gate::{Agreeing, JudgeGate, MeasuredCriterion, MeasuredJudges};
pub use origin::{Again, Origin};
pub use rate_gate::{RateBy, RateGate, RatePer};
pub use select::{Misfit, misfits, unknown_in_group, unknown_tags};
pub use stored::Error;
pub use transcripts::Transcripts;
pub use trials::Trials;

/// The version of the plan's format that this build writes, and the newest that it reads. Plans without features of
/// version 2 (data sets, added and excluded combinations, judges that only inform), 3 (loads, think times, objectives) or 4
/// (early decisions; agents other than the built-in one, whose trials have the seeds of their cells; gates on success rates and
/// flaky cases) are written as version 1, which older builds read.
pub const VERSION: u32 = 4;

/// The parameter of a case that holds the id of its row.
pub const ROW: &str = "row";

/// A description of a run. It never changes once the run has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this shape.
    pub version: u32,
    /// The run's name in reports.
    pub name: String,
    /// Every trial's seed derives from this and from the trial's identity, without the agent from version 4 on.
    pub seed: u64,
    pub groups: Vec<Group>,
    /// The personas that the groups name.
    pub personas: BTreeMap<String, Persona>,
    /// The agents under test, by the names that the workers' settings give them; never empty.
    pub agents: Vec<String>,
    /// Ignore `setup.mocks` and let agents reach the real services.
    pub live: bool,
    pub gates: Gates,
    /// Play to the end even if an agent has never answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plays_on: bool,
    /// How often a trial is replayed within a run if our side broke it.
    #[serde(default = "usual_replays")]
    pub replays: u32,
    /// The k of pass^k; `None`: the smallest number of repeats, at most 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_k: Option<u32>,
    /// The settings of each endpoint by name: a digest of kind, model, parameters and price, without addresses and
    /// keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, String>,
    /// The limits on times that reports count turns by; `None`: no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Play the pauses of users also without a load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub think_time: bool,
    /// Of which conversations the words are kept.
    #[serde(default, skip_serializing_if = "Transcripts::is_all")]
    pub transcripts: Transcripts,
    /// What is played instead of every case as often as its group repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// The run stops when it is decided; `None`: it plays every repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide: Option<Decide>,
    /// The recorded run that is played or judged again; `None`: a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A scenario with its axes, personas and repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Stable over nights: the file's name without its ending, a slash, and the scenario's name. Unique in a plan.
    pub key: String,
    /// The matrix file's name for it, else the scenario's.
    pub name: String,
    /// The name of the [`Format`](crate::Format) that reads its document.
    pub format: String,
    pub source: Source,
    /// The file's content before any axis is applied.
    pub document: Value,
    /// The 1-based lines of the steps and checks of the document, by their paths (`run[0].evaluations[1]`).
    pub lines: BTreeMap<String, u32>,
    /// Tags for `--tag`.
    pub tags: Vec<String>,
    /// Its weight in the weighted success rate of a run: one for the scenario, however many cases it has.
    pub weight: f64,
    /// The least success rate of each of its cases; `None`: that of the plan's gates.
    pub required_pass_rate: Option<f64>,
    /// First outermost, last fastest.
    pub axes: Vec<Axis>,
    /// Combinations in addition to those of the axes, with a value for each axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<Vec<Value>>,
    /// Combinations of the axes that are not played, by the names of axes, columns, persona and agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Vec<(String, Value)>>,
    /// The number of cells that `exclude` leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded: u64,
    /// The values of the environment variables that the document and the axes name, as the planner read them. They are no
    /// part of the ids of cases: a preview at another address keeps its history.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The data set, as the innermost axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// Names of the plan's personas; `None` is the scenario's own. Never empty.
    pub personas: Vec<Option<String>>,
    /// At least 1.
    pub repeats: u32,
    /// The cells (combination x row x persona x agent, the agent fastest) that the filters left, ascending; `None`:
    /// all.
    pub selection: Option<Vec<u64>>,
    /// The selection covers every combination of the values of any so many axes, and not every combination. Only for readers of
    /// the plan: which cells are played is `selection`, so older builds play the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
}

/// How a group covers the combinations of its axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// Combinations of the values of any so many axes are covered.
    pub strength: u32,
    /// The combinations of one agent that are played for it, with their rows and personas.
    pub played: u64,
    /// Of so many.
    pub of: u64,
}

/// One parameter path and its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub parameter: String,
    /// At least one, of any JSON type.
    pub values: Vec<Value>,
}

/// The conditions for a run to pass.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gates {
    /// The least success rate of the whole run; `None`: every case must pass.
    pub pass_rate: Option<f64>,
    /// The least success rate of every case without its own; `None`: half of `pass_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_pass_rate: Option<f64>,
    /// The least success rates of the run and of its parts, in addition to `pass_rate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_rates: Vec<RateGate>,
    /// The largest share of cases that may be flaky; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_flaky_cases: Option<f64>,
    /// The largest share of planned trials that may say nothing about the agent (0 by default).
    pub max_unjudged: f64,
    /// How many cases may have no trial that says something about the agent (0 by default).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_unjudged_cases: u64,
    /// The largest share of trials in which the agent may get a critical fault of the simulated user; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_simulator_faults: Option<f64>,
    /// Which judges decide; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judges: Option<JudgeGate>,
    /// What figures must be, over the run or in each stretch of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// Cases that are played and shown, and that no gate depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantine: Vec<Quarantine>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One cell of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub id: CaseId,
    /// Its place in the plan, from 0.
    pub number: u64,
    /// Index into [`Plan::groups`].
    pub group: usize,
    pub scenario: String,
    /// `combo-000-59fc3c`, if the group has more than one combination.
    pub combination: Option<String>,
    /// In the order of the axes; the id of a row comes last, as [`ROW`].
    pub parameters: Vec<(String, Value)>,
    /// The row of the group's data set, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    pub persona: Option<String>,
    pub agent: String,
}

/// One repeat of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the plan, from 0.
    pub number: u64,
    pub id: TrialId,
    /// [`Case::number`].
    pub case: u64,
    pub case_id: CaseId,
    /// From 0.
    pub repeat: u32,
    pub seed: u64,
}

impl Plan {
    /// Whether users pause before their lines. In a load, because a user who answers at once is several users' load.
    #[must_use]
    pub fn plays_pauses(&self) -> bool {
        self.think_time || self.load.is_some()
    }

    /// Whether its load searches for the highest rate that meets the requirements.
    #[must_use]
    pub fn is_search(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.search.is_some())
    }
}

impl Case {
    /// The id of the row that it plays.
    #[must_use]
    pub fn row_id(&self) -> Option<&str> {
        self.row?;
        let (_, id) = self.parameters.iter().find(|(name, _)| name == ROW)?;
        id.as_str()
    }
}

/// How often a trial that our side broke is replayed by default.
#[must_use]
pub fn usual_replays() -> u32 {
    2
}
