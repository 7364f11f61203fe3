//! What is wrong with a pace.

/// What is wrong, and at which key below the pace. A hint follows `\nhint: `.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) key: Vec<String>,
    pub(crate) reason: String,
}

pub(super) type Found<T> = Result<T, Fault>;

pub(super) fn fault<T>(key: &str, reason: impl Into<String>) -> Found<T> {
    Err(Fault { key: key.split('.').map(str::to_owned).collect(), reason: reason.into() })
}
