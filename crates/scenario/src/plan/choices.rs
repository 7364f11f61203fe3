//! The user's choices in addition to the files.

use serde_json::Value;

use super::{Decide, Gates, Transcripts, usual_replays};
use crate::{Goodput, load::Choice};

/// The most cases that a plan may have: a summary has a line of a few hundred bytes for each, and travels as one
/// message of at most 64 MiB.
pub const MAX_CASES: u64 = 100_000;
/// The most cells that are searched for the cases that `exclude`, `--filter`, `--where` and `--exclude` leave.
pub(super) const MOST_LISTED: u64 = 2_000_000;
/// The most trials of a plan, unless the user raises it.
pub const MAX_TRIALS: u64 = 10_000_000;

/// The most axes whose combinations of values `--cover` covers.
pub const MOST_COVERED: u32 = 3;

/// The user's choices in addition to the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    pub name: String,
    pub seed: u64,
    /// Overrides the files.
    pub repeats: Option<u32>,
    /// Names from the library, or `all`; overrides the files. Empty: as in the files.
    pub personas: Vec<String>,
    /// Parameter paths and values: each becomes an axis of one value, so that cases show it.
    pub set: Vec<(String, Value)>,
    /// Names of agents; at least one.
    pub agents: Vec<String>,
    pub live: bool,
    /// Play to the end even if an agent has never answered.
    pub plays_on: bool,
    pub gates: Gates,
    /// How often a trial is replayed within a run if our side broke it.
    pub replays: u32,
    /// The k of pass^k; `None`: the smallest number of repeats, at most 8.
    pub pass_k: Option<u32>,
    /// The limits on times of the report's goodput.
    pub goodput: Option<Goodput>,
    /// Of which conversations the words are kept.
    pub transcripts: Transcripts,
    /// Keeps the cases with this text in their scenario, combination, parameters or persona, without case.
    pub filter: Option<String>,
    /// Keeps the scenarios that have one of these tags. Empty: all.
    pub tags: Vec<String>,
    /// Leaves out the scenarios that have one of these tags.
    pub exclude_tags: Vec<String>,
    /// Keeps the cases with one of the values of each name. Names are those of axes, of columns of the data set, `row`,
    /// `persona`, `agent` and `scenario`.
    pub conditions: Vec<(String, String)>,
    /// Leaves out the cases that have all values of one of these.
    pub exclude: Vec<Vec<(String, String)>>,
    /// Of the combinations of values play as few as cover every combination of the values of any so many axes, 1 to [`MOST_COVERED`];
    /// personas and rows count as axes. `None`: all.
    pub cover: Option<u32>,
    pub max_trials: u64,
    /// Play the pauses of users also without a load.
    pub think_time: bool,
    /// What is played instead of every case as often as it repeats.
    pub load: Option<Choice>,
    /// Stop when the run is decided; replaces all numbers of repeats.
    pub decide: Option<Decide>,
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
            goodput: None,
            transcripts: Transcripts::All,
            filter: None,
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            conditions: Vec::new(),
            exclude: Vec::new(),
            cover: None,
            max_trials: MAX_TRIALS,
            think_time: false,
            load: None,
            decide: None,
        }
    }
}
