//! Looking for a text without regard to case and without copying what is searched.

use regex::Regex;

use crate::{error::Error, pattern::pattern, place::Place};

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
    pub(crate) fn new(text: &str, field: &'static str) -> Result<Self, Error> {
        Self::placed(text, Place::Anywhere, field)
    }

    /// The same, but it must stand there.
    pub(crate) fn placed(text: &str, place: Place, field: &'static str) -> Result<Self, Error> {
        if text.len() > LONGEST_BYTES {
            return Err(Error::TooLong { field, bytes: text.len() });
        }
        let start = if matches!(place, Place::Start | Place::Whole) { r"\A" } else { "" };
        let end = if matches!(place, Place::End | Place::Whole) { r"\z" } else { "" };
        let text = format!("{start}{}{end}", regex::escape(text));
        Ok(Self { regex: pattern(&text, false, COMPILED_BYTES)? })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
