//! The role of a call's target, by which calls are counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role in which a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Agent,
    UserSim,
    Judge,
    /// A model that gives numbers for texts: embeddings, moderation.
    Scorer,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Agent, Self::UserSim, Self::Judge, Self::Scorer];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::UserSim => "user_sim",
            Self::Judge => "judge",
            Self::Scorer => "scorer",
        }
    }
}
