//! `answer_id`: an agent that looks up its answers gave the one with this id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Count;

use super::{kind::Kind, place::Place};

/// An agent that looks up its answers gave the answer with this id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerId {
    /// The id.
    pub id: Count,
}

impl Kind for AnswerId {
    type Written = Self;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
