//! `string_contains`: the reply has a text in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The reply contains a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StringContains {
    /// The text to look for.
    pub value: String,
    /// Whether the search is case-sensitive.
    #[serde(default)]
    pub case_sensitive: bool,
}

impl Kind for StringContains {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
