//! What went wrong with a call, in classes that tell the caller what to do next.

use std::time::Duration;

use crate::hint;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server understood and refused; asking again changes nothing.
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
        /// Method and address; empty for what is not reached by HTTP.
        place: String,
        limit: Duration,
    },
    /// An answer that is not what the protocol says, or that breaks off. `partial` is what had come.
    #[error("{endpoint} answered something that is no reply: {message}")]
    Malformed { endpoint: String, message: String, partial: String },
    /// The connection was refused, reset, or the server answered 408, 409, 424 or 5xx. `sent`: the request may have been received.
    #[error("{}: {message}", unreachable(endpoint, *status))]
    Unreachable { endpoint: String, status: Option<u16>, message: String, sent: bool },
    /// This machine has no descriptor, port or memory left for the call. `sent`: as above.
    #[error("{endpoint} cannot be called: {message}")]
    OutOfResources { endpoint: String, message: String, sent: bool },
    /// The quota or the credit is used up: asking again is useless.
    #[error("{endpoint} says that its quota is used up: {message}")]
    Exhausted { endpoint: String, message: String },
    /// The settings ask for a body that this call cannot fill; nothing was sent.
    #[error("the call to {endpoint} cannot be written: {message}")]
    Unwritable { endpoint: String, message: String },
    /// The key is not where the settings say it is.
    #[error("endpoint {endpoint:?} has no key: {reason}")]
    NoKey { endpoint: String, reason: String },
}

impl Error {
    /// Whether the settings must be mended: a key that the server does not take, or a call that they cannot make.
    #[must_use]
    pub fn is_of_settings(&self) -> bool {
        matches!(
            self,
            Self::Refused { status: 401 | 403, .. }
                | Self::Unsupported { .. }
                | Self::Unwritable { .. }
                | Self::NoKey { .. }
        )
    }

    /// Whether the endpoint may have run the model and charged for it, although no reply came.
    #[must_use]
    pub fn may_have_been_charged(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::Unsupported { .. }
            | Self::Throttled { .. }
            | Self::Exhausted { .. }
            | Self::Unwritable { .. }
            | Self::NoKey { .. } => false,
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
