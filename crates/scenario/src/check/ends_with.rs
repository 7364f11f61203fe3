//! `ends_with`: how the text ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The text ends with one of the values. Trailing white space does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndsWith {
    /// The alternatives; one match is enough.
    #[schemars(length(min = 1))]
    pub values: Vec<String>,
    /// Whether to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
}

impl Kind for EndsWith {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_values(&written.values, "values");
        Some(written)
    }
}
