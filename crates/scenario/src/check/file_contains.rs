//! `file_contains`: a file contains a text at the end of the step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// A file contains a text at the end of the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContains {
    /// The path below the trial's root.
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
