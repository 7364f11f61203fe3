//! What an export knows of a run besides its trials.

use record::{Trial, Turn, summary::RunState};
use serde::{Deserialize, Serialize};

/// The run, as `report.json` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub id: String,
    pub name: String,
    pub state: RunState,
    pub verdict: String,
    /// Unix milliseconds.
    pub started_at_ms: i64,
    pub ended_at_ms: Option<i64>,
    pub planned: u64,
    pub seed: u64,
    pub plan_digest: String,
    /// Of the gabfest that began the run.
    pub gabfest_version: String,
    /// What calls in flight of lost workers may have cost, in billionths of a dollar.
    pub unsettled_nanos: i64,
}

/// A case of the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Case {
    /// The scenario's name; with its file where another scenario has the same name.
    pub scenario: String,
    pub source: String,
    pub format: String,
    pub variant: Option<String>,
    pub combination: Option<String>,
    pub persona: Option<String>,
    pub agent: String,
    /// Values of axes by path; a text as it is, other values as JSON.
    pub axes: Vec<(String, String)>,
    pub quarantined: bool,
}

/// The attempt at a trial that counts, with the others.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    pub trial: &'a Trial,
    /// Empty if its words are not kept or cannot be read.
    pub turns: &'a [Turn],
    /// Why its words cannot be read.
    pub unreadable: Option<&'a str>,
    /// The attempts that do not count, by epoch.
    pub others: &'a [Attempt],
}

/// An attempt that does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Of its trial.
    pub number: u64,
    pub epoch: u32,
    pub ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Lost with its worker, or given up by it.
    Lost {
        begun: bool,
        given_up: bool,
        /// Unix milliseconds.
        at: i64,
    },
    /// A later attempt replaced it.
    Replaced(Box<Trial>),
}
