//! Goodput: the limits on times that make a turn one of use.

use serde::{Deserialize, Serialize};

/// A turn meets it if it meets each limit that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Goodput {
    /// Of the response time: from the moment the turn is due to the whole reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_micros: Option<u64>,
    /// Of the time to the first token. The first token of a reply that was not streamed comes with its last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_micros: Option<u64>,
    /// Of the time per output token. Replies that have none, because they were not streamed or have one token, meet it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_token_micros: Option<u64>,
}

impl Goodput {
    /// Whether no limit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
