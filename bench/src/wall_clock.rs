//! The time of day, by which the figures of several processes are put together.

use std::time::{SystemTime, UNIX_EPOCH};

/// In unix microseconds.
#[expect(clippy::disallowed_methods, reason = "a measurement")]
pub(crate) fn unix_micros() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}
