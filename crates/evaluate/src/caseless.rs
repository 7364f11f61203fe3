//! Looking for a text without regard to case and without copying what is searched.

use regex::Regex;

use crate::compile::{self, pattern};

/// Longer texts are refused: each character becomes the class of its cases, which takes time and room to compile.
const LONGEST_BYTES: usize = 32 << 10;
/// Enough for the longest.
const COMPILED_BYTES: usize = 32 << 20;

/// A text to look for.
#[derive(Debug, Clone)]
pub(crate) struct Caseless {
    regex: Regex,
}

impl Caseless {
    /// `field` names the text in the error.
    pub(crate) fn new(text: &str, field: &'static str) -> Result<Self, compile::Error> {
        if text.len() > LONGEST_BYTES {
            return Err(compile::Error::TooLong { field, bytes: text.len() });
        }
        Ok(Self { regex: pattern(&regex::escape(text), COMPILED_BYTES)? })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
