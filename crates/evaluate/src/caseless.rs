//! Looks for a text in another, case-insensitively and without a copy of the searched text.

use regex::Regex;

use crate::{anchor::Anchor, error::Error, pattern::pattern};

/// The limit of the text. Each character becomes the class of its cases, which takes time and memory to compile.
const LONGEST_BYTES: usize = 32 << 10;
/// Enough for a text of [`LONGEST_BYTES`].
const COMPILED_BYTES: usize = 32 << 20;

/// A text to look for.
#[derive(Debug, Clone)]
pub(crate) struct Caseless {
    regex: Regex,
}

impl Caseless {
    /// `field` names the text in the error.
    pub(crate) fn new(text: &str, field: &'static str) -> Result<Self, Error> {
        Self::placed(text, Anchor::Anywhere, field)
    }

    /// A text that must be at a position.
    pub(crate) fn placed(text: &str, place: Anchor, field: &'static str) -> Result<Self, Error> {
        if text.len() > LONGEST_BYTES {
            return Err(Error::TooLong { field, bytes: text.len() });
        }
        let start = if matches!(place, Anchor::Start | Anchor::Whole) { r"\A" } else { "" };
        let end = if matches!(place, Anchor::End | Anchor::Whole) { r"\z" } else { "" };
        let text = format!("{start}{}{end}", regex::escape(text));
        Ok(Self { regex: pattern(&text, false, COMPILED_BYTES)? })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}
