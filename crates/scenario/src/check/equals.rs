//! `equals`: what the text is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The text is one of the values; white space around it and the kind of line ends aside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Equals {
    /// One of them is enough.
    #[schemars(length(min = 1))]
    pub values: Vec<String>,
    /// Whether capitals do not count.
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
