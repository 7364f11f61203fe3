//! Errors of calls, in classes that tell the caller what to do next.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::hint;

#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The server understood the call and refused it; a retry would not help.
    #[error("{endpoint} refused the call with status {status}: {message}")]
    Refused { endpoint: String, status: u16, message: String },
    /// The server does not take a parameter that the settings or gabfest itself send; without it, it might.
    #[error("{endpoint} does not take the parameter `{parameter}`: {message}")]
    Unsupported { endpoint: String, parameter: String, message: String },
    /// 429: ask again later, not before `after`.
    #[error("{endpoint} is throttling: {message}")]
    Throttled { endpoint: String, after: Option<Duration>, message: String },
    /// No whole reply in time.
    #[error("{endpoint} did not answer within {} ms{}", limit.as_millis(), hanging(place))]
    TimedOut {
        endpoint: String,
        /// Method and address; empty if it is not reached by HTTP.
        place: String,
        limit: Duration,
    },
    /// An answer that violates the protocol or ends early. `partial` is the part that arrived.
    #[error("{endpoint} answered with something that is not a reply: {message}")]
    Malformed { endpoint: String, message: String, partial: String },
    /// The connection was refused, reset, or the server answered 408, 409, 424 or 5xx. `sent`: the request may have been received.
    #[error("{}: {message}", unreachable(endpoint, *status))]
    Unreachable { endpoint: String, status: Option<u16>, message: String, sent: bool },
    /// This machine has no descriptor, port or memory left for the call. `sent`: as above.
    #[error("{endpoint} cannot be called: {message}")]
    OutOfResources { endpoint: String, message: String, sent: bool },
    /// The quota or the credit is used up: asking again is useless.
    #[error("the quota of {endpoint} is used up: {message}")]
    Exhausted { endpoint: String, message: String },
    /// The run has no money left for the call; nothing was sent.
    #[error("the call to {endpoint} was not made: {message}")]
    NoMoney { endpoint: String, message: String },
    /// The settings require a body that cannot be built for this call; nothing was sent.
    #[error("the call to {endpoint} cannot be written: {message}")]
    Unwritable { endpoint: String, message: String },
    /// The key is not where the settings say it is.
    #[error("endpoint {endpoint:?} has no key: {reason}")]
    NoKey { endpoint: String, reason: String },
    /// The run is replayed, and the recording has no such call.
    #[error("the call to {endpoint} is not recorded: {message}")]
    NotRecorded { endpoint: String, message: String },
}

impl Error {
    /// Whether the settings must change: the server rejects the key, or the settings allow no such call.
    #[must_use]
    pub fn is_of_settings(&self) -> bool {
        matches!(
            self,
            Self::Refused { status: 401 | 403, .. }
                | Self::Unsupported { .. }
                | Self::Unwritable { .. }
                | Self::NoKey { .. }
                | Self::NotRecorded { .. }
        )
    }

    /// Whether the endpoint may have run the model and charged for it without a reply.
    #[must_use]
    pub fn may_have_been_charged(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::Unsupported { .. }
            | Self::Throttled { .. }
            | Self::Exhausted { .. }
            | Self::NoMoney { .. }
            | Self::Unwritable { .. }
            | Self::NoKey { .. }
            | Self::NotRecorded { .. } => false,
            Self::Unreachable { sent, .. } | Self::OutOfResources { sent, .. } => *sent,
            Self::TimedOut { .. } | Self::Malformed { .. } => true,
        }
    }
}

/// A server that answers 500 was reached; the model behind it was not.
fn unreachable(endpoint: &str, status: Option<u16>) -> String {
    match status {
        Some(status) => format!("{endpoint} failed with status {status}"),
        None => format!("{endpoint} cannot be reached"),
    }
}

fn hanging(place: &str) -> String {
    if place.is_empty() {
        return String::new();
    }
    hint::with(&format!(": {place}"), Some("raise `timeout_ms`, or look why the server does not answer"))
}
