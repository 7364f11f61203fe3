//! `no_repeated_reply`: the agent does not give the same reply twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Count;

use super::{kind::Kind, place::Place};

/// The agent gives no reply twice in a conversation. Capitals, punctuation and white space do not count. Use it in
/// `final_evaluations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoRepeatedReply {
    /// Replies with fewer words may recur, such as `You're welcome!`.
    #[serde(default = "four")]
    pub min_words: Count,
}

impl Kind for NoRepeatedReply {
    type Written = Self;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}

fn four() -> Count {
    Count(4)
}
