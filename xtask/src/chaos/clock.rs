//! The only place that reads the clock: real processes cannot use a paused one.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "real processes run in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The polling interval.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Polls until there is a value, or until the timeout.
pub(crate) fn until<T>(
    within: Duration,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<T>> {
    let began = now();
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        if began.elapsed() > within {
            return Ok(None);
        }
        std::thread::sleep(TICK);
    }
}
