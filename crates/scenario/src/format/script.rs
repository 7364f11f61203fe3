//! The content of a scenario file.

use crate::Scenario;

/// The content of a scenario file: the scenario, and its axes unless a matrix or the caller replaces them.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub scenario: Scenario,
    /// Names of personas of the library; empty: the scenario's own only.
    pub personas: Vec<String>,
    pub repeats: Option<u32>,
}
