//! `spend`: how many tokens and how much money the agent's replies took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Amount, Dollars};

use super::{kind::Kind, place::Place};

/// All replies of the agent together cost no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// The maximum cost in US dollars, by the prices of the settings.
    pub max_usd: Option<Dollars>,
    /// Input and output tokens together.
    pub max_tokens: Option<Amount>,
}

impl Kind for Spend {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_one_of(&["max_usd", "max_tokens"]);
        Some(written)
    }
}
