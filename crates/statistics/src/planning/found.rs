//! The plan of a comparison: the shape of `gabfest plan --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bumped when a field changes its meaning or goes away; new fields do not bump it.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gabfest plan")]
pub struct Planning {
    pub schema_version: u32,
    /// The fall of the success rate that is to be found, as a share: 0.03 is 3 percentage points.
    pub detect: f64,
    /// With this chance.
    pub power: f64,
    /// By how much the success rate may fall before `gabfest compare` says `worse`.
    pub margin: f64,
    /// Cases of the plan that a comparison counts, and their scenarios. Those in quarantine are left out.
    pub cases: u64,
    pub scenarios: u64,
    /// The comparison holds for scenarios like these; otherwise only for these.
    pub clustered: bool,
    /// The mean success rate that is expected of the cases.
    pub success_rate: f64,
    pub basis: Basis,
    /// The fewest repeats of each case in both runs that find the fall; `null`: no number up to 10,000 does.
    pub repeats: Option<u32>,
    /// The smallest fall that any number of repeats finds with this chance; `null`: none.
    pub smallest_with_any_repeats: Option<f64>,
    /// What the budget pays; `null` without one, or if the cost is unknown.
    pub budget: Option<Affordable>,
    /// What is planned: `repeats`, or as many as the budget pays, or those of `--repeats`; `null`: nothing can be.
    pub chosen: Option<Chosen>,
}

/// Where the success rates and variances come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Basis {
    /// Nights of the history with one of the cases.
    pub nights: u64,
    /// Cases with a result in the history.
    pub known_cases: u64,
    /// The success rate that is assumed of the others: the mean of those that are known, or that of `--rate`.
    pub assumed_rate: f64,
    /// How much alike the trials of one night are.
    pub night_correlation: f64,
    /// The standard deviation that all cases share from night to night, as a share; `null`: fewer than 7 nights, so none is assumed.
    pub common_deviation: Option<f64>,
    /// The root mean square difference of the success rate from one night to the next, as a share; `null` with fewer than 7 nights.
    pub usual_difference: Option<f64>,
}

/// What a budget pays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Affordable {
    pub usd: f64,
    /// So many repeats of every case cost at most this, by the high end of their cost.
    pub repeats: u32,
    /// `repeats` find the fall.
    pub is_enough: bool,
}

/// A run with so many repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chosen {
    /// Of each case.
    pub repeats: u32,
    /// Of one run, with those of cases in quarantine.
    pub conversations: u64,
    /// The chance that the fall is found.
    pub power: f64,
    /// The smallest fall that is found with the wanted chance; `null`: none.
    pub smallest: Option<f64>,
    pub cost: Cost,
    pub wall: Wall,
}

/// What one run costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    pub source: CostSource,
    /// `null` if calls have no price. Of an estimate, the middle of its ends.
    pub usd: Option<f64>,
    /// Of the history a 90 % prediction interval; of an estimate what usual conversations cost, and what the files allow at most.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Who has no price.
    pub unpriced: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// Earlier nights.
    History,
    /// The files and the prices of the settings.
    Estimate,
}

/// How long one run takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wall {
    /// By calls, slots and limits: at least and at most, in seconds.
    pub low_seconds: f64,
    pub high_seconds: f64,
    /// What determines each end, such as `slots: 32`.
    pub low_limit: String,
    pub high_limit: String,
    /// As earlier nights took for each conversation; `null` with fewer than 3 nights.
    pub history: Option<PastTime>,
}

/// The time of a run if its conversations take as long as in earlier nights, with the slots of those nights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastTime {
    pub seconds: f64,
    /// A 90 % prediction interval.
    pub low: f64,
    pub high: f64,
    pub nights: u64,
}
