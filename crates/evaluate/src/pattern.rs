//! Regular expressions of users, compiled within a limit of memory.

use regex::{Regex, RegexBuilder};

use crate::error::Error;

/// The largest compiled pattern of a user. Matching is linear in the reply; this limit bounds the pattern itself.
pub(crate) const PATTERN_BYTES: usize = 1 << 20;

/// Compiles a pattern to at most `max_bytes`.
pub(crate) fn pattern(text: &str, case_sensitive: bool, max_bytes: usize) -> Result<Regex, Error> {
    RegexBuilder::new(text)
        .case_insensitive(!case_sensitive)
        .size_limit(max_bytes)
        .build()
        .map_err(|error| Error::Pattern { message: error.to_string() })
}
