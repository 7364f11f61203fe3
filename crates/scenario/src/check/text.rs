//! Words for checks of a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// Words by the Unicode rules (UAX 29): `can't` is one, punctuation is none.
    Words,
    /// What a reader takes for one character: an `é` of two code points is one.
    Characters,
    /// Sentences by the Unicode rules.
    Sentences,
    /// Lines that are not blank.
    Lines,
}

impl LengthUnit {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Characters => "characters",
            Self::Sentences => "sentences",
            Self::Lines => "lines",
        }
    }
}

/// How it is found out whether the agent refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalMethod {
    /// A judge reads the reply.
    #[default]
    LlmJudge,
    /// Phrases with which English-speaking models refuse.
    Phrases,
}
