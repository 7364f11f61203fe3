//! What a scenario file says.

use crate::Scenario;

/// What a scenario file says: the scenario, and what it is multiplied by unless a matrix or the caller says more.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub scenario: Scenario,
    /// Names of personas of the library; empty: the scenario's own only.
    pub personas: Vec<String>,
    pub repeats: Option<u32>,
}
