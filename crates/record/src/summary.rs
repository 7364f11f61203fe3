//! The numbers of a run: the shape of `report.json`.
//!
//! A summary is a function of the store: made again from the same run, it has the same bytes.

mod case;
mod judges;
mod parts;
mod run;
mod totals;
mod unreadable;
mod user;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    case::CaseSummary,
    judges::{JudgedLength, Judges, Uncalibrated},
    parts::{AgentSummary, AxisSummary, CheckSummary, MetricSummary, PartSummary, TagSummary},
    run::{Gate, Run, RunState, RunVerdict, Wall},
    totals::{Attempts, Bounds, Cost, FailureCount, Latencies, ModelSpend, Preflight, Rate, Totals, Trials},
    unreadable::{Unreadable, UnreadableTrial},
    user::{FaultFigures, NamedUser, SimulatedUser, UserFigures},
};

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
    /// The duration of the run; `null` until it ends.
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
    /// Faults of the simulated user; absent if none spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_user: Option<SimulatedUser>,
    /// What judges found; absent if none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judges: Option<Judges>,
    /// Checks with a `name`, in alphabetical order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSummary>,
    /// Stored records that cannot be read; absent if there are none.
    #[serde(default, skip_serializing_if = "Unreadable::is_none")]
    pub unreadable: Unreadable,
}
