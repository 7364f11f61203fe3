//! `empty`: the text is empty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// The text is empty or only white space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

impl Kind for Empty {
    type Written = Self;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}
