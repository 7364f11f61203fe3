//! The only place that reads wall time.

use chrono::{DateTime, Utc};

/// Unix milliseconds.
pub(crate) fn now_millis() -> i64 {
    Utc::now().timestamp_millis()
}

/// `YYYYMMDD-HHMMSS-xxxx`: sorts by time; the last part separates runs of the same second.
pub(crate) fn new_run_id() -> scenario::RunId {
    let now = Utc::now();
    let apart = (now.timestamp_subsec_nanos() ^ std::process::id().rotate_left(16)) & 0xffff;
    scenario::RunId::new(format!("{}-{apart:04x}", stamp(now)))
}

/// `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    Utc::now().format("%Y-%m-%d").to_string()
}

fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y%m%d-%H%M%S").to_string()
}
