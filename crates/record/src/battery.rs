//! What a quality battery leaves in a record: what each turn was for, and what was found about each reply.
//!
//! Both travel in shapes that every record has: the plan of a conversation as a note of its first turn, a finding
//! as the evidence of its judgment.

use scenario::battery::{Compat, Examination, LEVELS, Requirement, Shown, Thresholds, Values};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Finding, Judgment, Turn};

/// The kind of the note that holds a [`Head`].
pub const NOTE: &str = "battery";

/// What a conversation was examined for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub requirements: Vec<Requirement>,
    pub examination: Examination,
    pub thresholds: Thresholds,
    pub shown: Shown,
    pub compat: Option<Compat>,
    /// The conversation was held before: nothing was timed.
    pub saved: bool,
}

/// What was found about one reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub requirement: Requirement,
    /// The id of the data set of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<u32>,
    /// Shown in the place of Pass or Fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// How strongly the question was garbled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// What was understood of the reply: text, or true or false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpretation: Option<Value>,
    /// The score, or whether a yes or no was right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
    /// The seven scores of toxicity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<(String, f64)>,
    /// The models that gave the scores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Otherwise it is shown, and no part of the totals.
    pub counted: bool,
}

/// (passed, counted).
pub type Total = [u64; 2];

/// Totals by level of error.
pub type Histogram = [Total; LEVELS];

impl Head {
    /// What the turns of a trial were for; `None` for trials of other formats.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Option<Self> {
        let notes = turns.first()?.notes.iter();
        notes.filter(|note| note.kind == NOTE).find_map(|note| serde_json::from_str(&note.text).ok())
    }
}

impl Cell {
    #[must_use]
    pub fn of(judgment: &Judgment) -> Option<Self> {
        let evidence = judgment.evidence.as_deref()?;
        serde_json::from_str(evidence).ok()
    }
}

/// Adds a finding to a total; what was not decided counts for nothing.
pub fn count(total: &mut Total, finding: Finding) {
    match finding {
        Finding::Pass => {
            total[0] += 1;
            total[1] += 1;
        }
        Finding::Fail => total[1] += 1,
        Finding::Inconclusive | Finding::Error => {}
    }
}
