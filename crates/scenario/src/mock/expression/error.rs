//! Why a text is no expression, or why one has no value.

/// Why a text is no expression, or why one has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{found} (line {line} of it)")]
    Unreadable { found: String, line: usize },
    #[error("{0}")]
    Valueless(String),
}
