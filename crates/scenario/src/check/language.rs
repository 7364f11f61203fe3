//! `language`: the text is written in a language.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, words};

use super::{kind::Kind, place::Place};

/// The text is written in a language. If the text is too short to tell, the result is inconclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Language {
    /// The ISO 639 code of the language: `en`, `deu`.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub code: String,
}

impl Kind for Language {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
