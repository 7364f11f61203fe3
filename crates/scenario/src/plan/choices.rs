//! What the user decides beside the files.

use serde_json::Value;

use super::{Gates, usual_replays};

/// The most cases that a plan may have: a summary has a line of a few hundred bytes for each, and travels as one
/// message of at most 64 MiB.
pub const MAX_CASES: u64 = 100_000;
/// The most cells that are looked at to find the cases that `exclude`, `--filter`, `--where` and `--exclude` leave.
pub(super) const MOST_LISTED: u64 = 2_000_000;
/// The most trials that a plan may have, unless the user says otherwise.
pub const MAX_TRIALS: u64 = 10_000_000;

/// What the user decides beside the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    pub name: String,
    pub seed: u64,
    /// Stronger than what the files say.
    pub repeats: Option<u32>,
    /// Names of the library, or `all`; stronger than what the files say. Empty: what the files say.
    pub personas: Vec<String>,
    /// Parameter paths and values: each becomes an axis of one value, so that cases show what they were played with.
    pub set: Vec<(String, Value)>,
    /// Names of agents; at least one.
    pub agents: Vec<String>,
    pub live: bool,
    /// Play to the end also where an agent has never answered.
    pub plays_on: bool,
    pub gates: Gates,
    /// How often a trial is played again within a run, where our side broke it.
    pub replays: u32,
    /// The k of pass^k; `None`: the smallest number of repeats, at most 8.
    pub pass_k: Option<u32>,
    /// Keeps the cases that have this in their scenario, combination, parameters or persona; capitals do not count.
    pub filter: Option<String>,
    /// Keeps the scenarios that have one of these tags. Empty: all.
    pub tags: Vec<String>,
    /// Leaves out the scenarios that have one of these tags.
    pub exclude_tags: Vec<String>,
    /// Keeps the cases that have one of the values of each name. The names are those of axes, of columns of the data set,
    /// `row`, `persona`, `agent` and `scenario`.
    pub conditions: Vec<(String, String)>,
    /// Leaves out the cases that have all values of one of these.
    pub exclude: Vec<Vec<(String, String)>>,
    pub max_trials: u64,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            name: "run".to_owned(),
            seed: 0,
            repeats: None,
            personas: Vec::new(),
            set: Vec::new(),
            agents: vec!["mock".to_owned()],
            live: false,
            plays_on: false,
            gates: Gates::default(),
            replays: usual_replays(),
            pass_k: None,
            filter: None,
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            conditions: Vec::new(),
            exclude: Vec::new(),
            max_trials: MAX_TRIALS,
        }
    }
}
