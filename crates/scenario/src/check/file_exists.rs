//! `file_exists`: a file exists at the end of the step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place};

/// A file exists at the end of the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileExists {
    /// The path below the trial's root.
    pub path: String,
}

impl Kind for FileExists {
    type Written = Self;

    fn read(written: Self, place: &mut Place<'_, '_>) -> Option<Self> {
        place.check_path(&written.path);
        Some(written)
    }
}
