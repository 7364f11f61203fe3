//! What a check gives back: how large it may be, and why there is none.

use std::time::Duration;

/// The largest answer of a check.
pub(super) const MOST_BYTES: usize = 256 << 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("it does not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Malformed(String),
    #[error("{0}")]
    Failed(String),
}

/// The beginning of what a check wrote, for a message.
pub(super) fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 500;
    let text = String::from_utf8_lossy(text);
    record::bounds::short(text.trim(), MOST).into_owned()
}
