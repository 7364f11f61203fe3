//! Looking for a text without regard to case and without copying what is searched.

use regex::Regex;

use crate::compile::{self, pattern};

/// Room for a literal of some tens of kilobytes: each character becomes the class of its cases.
const LITERAL_BYTES: usize = 16 << 20;

/// A text to look for.
#[derive(Debug, Clone)]
pub(crate) struct Caseless {
    regex: Regex,
}

impl Caseless {
    /// `field` names the text in the error.
    pub(crate) fn new(text: &str, field: &'static str) -> Result<Self, compile::Error> {
        let regex = pattern(&regex::escape(text), LITERAL_BYTES)
            .map_err(|_| compile::Error::TooLong { field, bytes: text.len() })?;
        Ok(Self { regex })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
