//! `equals`: the exact text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The text equals one of the values. White space around it and the kind of line ends do not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Equals {
    /// The alternatives; one match is enough.
    #[schemars(length(min = 1))]
    pub values: Vec<String>,
    /// Whether to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
}

impl Kind for Equals {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_not_empty(written.values.len(), "values");
        Some(written)
    }
}
