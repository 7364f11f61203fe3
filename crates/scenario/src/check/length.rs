//! `length`: how many words, characters, sentences or lines the text has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Amount;

use super::{kind::Kind, place::Place};

/// The number of words, characters, sentences or lines of the text lies in a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Length {
    /// What to count.
    #[serde(default = "words")]
    pub unit: LengthUnit,
    /// The minimum.
    pub min: Option<Amount>,
    /// The maximum.
    pub max: Option<Amount>,
}

/// What a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// Words by the Unicode rules (UAX 29): `can't` is one, punctuation is none.
    Words,
    /// Characters as readers see them: an `é` of two code points is one.
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

impl Kind for Length {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_range(written.min.map(|min| min.0), written.max.map(|max| max.0));
        Some(written)
    }
}

fn words() -> LengthUnit {
    LengthUnit::Words
}
