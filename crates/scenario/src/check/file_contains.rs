//! `file_contains`: a file of the trial has a text in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// A file contains a text when the step is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContains {
    /// Beneath the trial's root.
    pub path: String,
    /// The text to look for.
    pub value: String,
}

impl Kind for FileContains {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_path(&written.path);
        Some(written)
    }
}
