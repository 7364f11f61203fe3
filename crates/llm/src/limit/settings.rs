//! The limits of an endpoint, as written in the settings.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Absent limits do not apply. All workers of a coordinator share the limits in proportion to their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    pub requests_per_minute: Option<NonZeroU32>,
    /// Input and output together.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Of a day in UTC, counted by the coordinator for all workers and runs. A run that reaches it stops and can be resumed the
    /// next day.
    pub requests_per_day: Option<NonZeroU32>,
    /// Calls in flight at the same time.
    pub concurrency: Option<NonZeroU32>,
    /// Requests that may start at once after a pause; 1 if absent, so that no minute exceeds the limit.
    pub burst: Option<NonZeroU32>,
    /// Whether gabfest also keeps the limits per minute that the provider names in its answers, if these are absent or higher.
    pub learn: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            tokens_per_minute: None,
            requests_per_day: None,
            concurrency: None,
            burst: None,
            learn: true,
        }
    }
}
