//! `contains`: the text contains all of the values, or any of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The text contains all of the values, or at least one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contains {
    /// The texts to look for.
    #[schemars(length(min = 1))]
    pub values: Vec<String>,
    /// Whether one of the values is enough.
    #[serde(default)]
    pub any: bool,
    /// Whether to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
}

impl Kind for Contains {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_values(&written.values, "values");
        Some(written)
    }
}
