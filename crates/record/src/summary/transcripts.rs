//! Which conversations of a run were kept, and how many were not.

use scenario::plan::Transcripts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of a run that does not keep all its conversations. All figures come from the records of trials, which are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptTranscripts {
    /// Which are kept.
    pub kept: Transcripts,
    /// Trials that passed and whose words were not kept.
    pub dropped: u64,
}
