//! The numbers of a run: the shape of `report.json`.
//!
//! A summary is a function of the store: made again from the same run, it has the same bytes.

mod case;
mod contents;
mod custom;
mod drift;
mod goodput;
mod judges;
mod load;
mod parts;
mod past;
mod run;
mod sequential;
mod totals;
mod transcripts;
mod unreadable;
mod user;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{slices::Series, turn_times::NumberedTimes};

pub use self::{
    case::CaseSummary,
    contents::{Contents, ScenarioContent, scenario_key},
    custom::CustomCheckSummary,
    drift::{Drift, DriftFigure, DriftName, Watched},
    goodput::{Goodput, GoodputFigures, GoodputLimits},
    judges::{CorrectedRate, JudgedCriterion, JudgedLength, Judges, Uncalibrated},
    load::{Knee, KneeUnit, Load, LoadGroup, LoadSearch, LoadSearchStep, LoadSlice, LoadStep, Sustained},
    parts::{
        AgentSummary, AxisSummary, CheckSummary, MetricSummary, OtherParts, PartSummary, PersonaSummary,
        ScenarioSummary, TagSummary,
    },
    past::{FailureSeen, Past, QuarantineAlert},
    run::{Gate, LeftOut, Run, RunDecision, RunState, RunVerdict, Wall},
    sequential::{Sequential, SequentialCase, SequentialRate},
    totals::{
        Attempts, Bounds, Budget, Cost, FailureCount, Latencies, Losses, ModelSpend, Preflight, Rate, RateScope,
        Totals, Trials,
    },
    transcripts::KeptTranscripts,
    unreadable::{Unreadable, UnreadableTrial},
    user::{FaultFigures, NamedUser, SimulatedUser, UserFigures},
};

/// Bumped when a field changes its meaning or goes away; new fields do not bump it.
pub const SCHEMA_VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gabfest report")]
pub struct Summary {
    pub schema_version: u32,
    pub run: Run,
    pub verdict: RunVerdict,
    pub gates: Vec<Gate>,
    pub summary: Totals,
    pub cases: Vec<CaseSummary>,
    /// The duration of the run; `null` until it ends.
    #[serde(default)]
    pub wall: Option<Wall>,
    #[serde(default)]
    pub by_agent: Vec<AgentSummary>,
    /// The first 1,000 scenarios of the plan.
    #[serde(default)]
    pub by_scenario: Vec<ScenarioSummary>,
    /// Absent if there is no persona.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_persona: Vec<PersonaSummary>,
    /// A scenario counts under each of its tags.
    #[serde(default)]
    pub by_tag: Vec<TagSummary>,
    #[serde(default)]
    pub by_axis: Vec<AxisSummary>,
    /// Absent if no kind has more than 64 parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_parts: Vec<OtherParts>,
    /// Turns and conversations that met the limits of `goodput` in the settings; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Times by the number of the turn in its trial.
    #[serde(default)]
    pub by_turn: Vec<NumberedTimes>,
    /// The run over time; absent if no trial was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    #[serde(default)]
    pub by_check: Vec<CheckSummary>,
    /// Faults of the simulated user; absent if none spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_user: Option<SimulatedUser>,
    /// What judges found; absent if none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judges: Option<Judges>,
    /// Checks of the user's own that answered, in alphabetical order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_checks: Vec<CustomCheckSummary>,
    /// Checks with a `name`, in alphabetical order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSummary>,
    /// What the load scheduled and sent; absent without a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How the run was decided early; absent if it plays every repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<Sequential>,
    /// When conversations were lost with their workers, the first 100 moments; absent if none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Losses>,
    /// What the history knew when the run ended; absent if it knew nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<Past>,
    /// Of which conversations the words are kept; absent if of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcripts: Option<KeptTranscripts>,
    /// Stored records that cannot be read; absent if there are none.
    #[serde(default, skip_serializing_if = "Unreadable::is_none")]
    pub unreadable: Unreadable,
}
