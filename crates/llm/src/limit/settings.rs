//! The limits of an endpoint, as written in the settings.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is absent is not limited. All workers of a coordinator share these, by their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    pub requests_per_minute: Option<NonZeroU32>,
    /// Input and output together.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Calls that may be in flight at once.
    pub concurrency: Option<NonZeroU32>,
    /// Requests that may start at once when there was a pause before them; 1 where absent, so that no minute
    /// sees more than the limit.
    pub burst: Option<NonZeroU32>,
}
