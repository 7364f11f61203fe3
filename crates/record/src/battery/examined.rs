//! The record of a battery: its head, and a finding for each reply that was examined.

use scenario::battery::{Compat, Examination, LEVELS, Requirement, Shown, Thresholds, Values};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Finding;

/// A conversation and its findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examined {
    pub head: Head,
    /// Empty if the conversation broke off.
    pub replies: Vec<Reply>,
}

/// A finding about a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The number of its turn.
    pub turn: u32,
    pub finding: Finding,
    pub cell: Cell,
}

/// How a conversation was examined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub requirements: Vec<Requirement>,
    pub examination: Examination,
    pub thresholds: Thresholds,
    pub shown: Shown,
    pub compat: Option<Compat>,
    /// A stored conversation without times.
    pub saved: bool,
}

/// A finding as the tables show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub requirement: Requirement,
    /// The id of the data set of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<u32>,
    /// Shown instead of Pass or Fail.
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
    /// Whether the finding counts in the totals. If not, it is only shown.
    pub counted: bool,
}

/// (passed, counted).
pub type Total = [u64; 2];

/// Totals by level of error.
pub type Histogram = [Total; LEVELS];

impl Examined {
    /// As the wire and the store have it.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("what a battery examined has only string keys")
    }

    /// # Errors
    /// It is of another version, or has a number that JSON cannot keep.
    pub fn from_json(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

/// Adds a finding to a total; an undecided finding is not counted.
pub fn count(total: &mut Total, finding: Finding) {
    match finding {
        Finding::Pass => {
            total[0] += 1;
            total[1] += 1;
        }
        Finding::Fail => total[1] += 1,
        Finding::Inconclusive | Finding::Error | Finding::NotApplicable => {}
    }
}
