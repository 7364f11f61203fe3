//! Whether figures of a load changed while its pace did not: the words of a soak.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How figures of a load changed over the time in which its pace was steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// `null` if there was no steady part.
    pub watched: Option<Watched>,
    /// Figures with at least 10 slices.
    pub figures: Vec<DriftFigure>,
    /// Why some or all figures have no trend; `null` if all have enough slices.
    pub undecided: Option<String>,
}

/// The part of the load that was watched: in the longest stretch after the warm-up in which no group changes its pace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    pub from_seconds: f64,
    pub to_seconds: f64,
    /// Slopes are those between slices of this width.
    pub slice_seconds: f64,
}

/// A figure over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftFigure {
    pub name: DriftName,
    /// How many slices have the figure.
    pub slices: u64,
    /// Of all slices.
    pub median: f64,
    /// The slope of Theil and Sen in an hour, in the unit of the figure.
    pub slope_per_hour: f64,
    /// The 99 % interval of the slope.
    pub low_per_hour: f64,
    pub high_per_hour: f64,
    /// By how much the slope changes the figure from the first slice to the last.
    pub change: f64,
    /// The interval has no 0 in it, and the change is at least 5 % of the median; of a rate, a percentage point.
    pub drifts: bool,
}

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriftName {
    /// In milliseconds.
    ResponseP50Ms,
    /// In milliseconds.
    ResponseP99Ms,
    /// Conversations that passed, of those that say something about the agent; 0 to 1.
    PassRate,
    /// Conversations that the agent's errors ended, of the same; 0 to 1.
    ErrorRate,
    /// The agent's output tokens a conversation.
    OutputTokens,
    /// The memory of the largest worker.
    WorkerMemoryBytes,
    /// The memory of the coordinator since it started.
    CoordinatorMemoryBytes,
}
