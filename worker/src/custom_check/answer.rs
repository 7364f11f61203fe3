//! The answer of a check: its size limit, and the reasons why there is none.

use std::time::Duration;

/// The largest answer of a check.
pub(super) const MOST_BYTES: usize = 256 << 10;

/// What a check answered, as JSON, and what answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) text: String,
    /// 16 hex digits that name the command with the content of its files, or the address.
    pub(crate) program: String,
}

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

/// The start of a check's output, for a message.
pub(super) fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 500;
    let text = String::from_utf8_lossy(text);
    record::bounds::short(text.trim(), MOST).into_owned()
}
