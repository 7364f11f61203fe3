//! What the history knew when the run ended: quarantined cases that need a look, and since when failures are seen.

use scenario::Quarantine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Beside the figures of the run: no gate depends on it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Past {
    /// Nights of the history that the run was compared with.
    pub nights: u64,
    /// Quarantined cases that passed less often than the nights before let expect.
    pub alerts: Vec<QuarantineAlert>,
    /// Entries of the quarantine whose last day is over: their cases count again.
    pub expired: Vec<Quarantine>,
    /// Failures of this run that an earlier night could have had.
    pub failures: Vec<FailureSeen>,
}

/// A quarantined case that got worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineAlert {
    /// Its name.
    pub case: String,
    pub passed: u64,
    pub trials: u64,
    /// The success rate that the nights before let expect.
    pub expected_rate: f64,
    /// The chance of so few passes, or fewer, if nothing changed.
    pub chance: f64,
    pub owner: String,
}

/// Since when a failure is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureSeen {
    /// As in `gabfest history --failures --json`.
    pub signature: String,
    /// No earlier night had it.
    pub is_new: bool,
    /// When the first run with it started: RFC 3339, UTC.
    pub first_seen: String,
    /// Nights with it, this run included, of those since the first that could have shown it.
    pub seen: u64,
    pub nights: u64,
}

impl Past {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.alerts.is_empty() && self.expired.is_empty() && self.failures.is_empty()
    }
}
