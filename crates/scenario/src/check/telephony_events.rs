//! `telephony_events`: the keys that the agent pressed, where it transferred the call, and whether it hung up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, all_words};

use super::{kind::Kind, place::Place};

/// The agent caused exactly these telephone events, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TelephonyEvents {
    /// `dtmf KEY`, `transfer_call NUMBER` and `end_call`. An empty list means no events.
    #[serde(deserialize_with = "all_words")]
    #[schemars(with = "Vec<Words>")]
    pub expected: Vec<String>,
}

impl Kind for TelephonyEvents {
    type Written = Self;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
