//! The figures of checks of the user's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::Rate;

/// What is known of one check of the user's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CustomCheckSummary {
    /// Its name in the settings; `other`: all checks after the first 100.
    pub check: String,
    /// Its answers.
    pub answers: u64,
    /// Digests of what answered, at most 8. Several: workers ran different versions, or the check changed during the run.
    pub programs: Vec<String>,
    /// The answers that gabfest asked for twice, because the check is `deterministic`.
    pub asked_twice: u64,
    /// Of them, those whose second answer was another one. One is enough: the check is unstable.
    pub differed: u64,
    /// differed / asked_twice
    pub unstable: Rate,
}
