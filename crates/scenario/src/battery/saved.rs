//! A conversation that was held before, and the tests in it.

use serde::{Deserialize, Serialize};

use super::{Examination, Requirement};

/// A conversation that was held, and its tests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Saved {
    /// (the tester's message, the agent's answer).
    pub exchanges: Vec<(String, String)>,
    pub examination: Examination,
}

impl Saved {
    #[must_use]
    pub fn examination(&self) -> Examination {
        self.examination.clone()
    }

    /// Whether one of its turns is a test of the requirement.
    #[must_use]
    pub fn tests(&self, requirement: Requirement) -> bool {
        self.examination.turns.iter().flatten().any(|test| test.requirement == requirement)
    }
}
