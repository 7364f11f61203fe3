//! A process that crashes at a named point of the code: `GABFEST_CRASH_AT=NAME:N` aborts it when it gets there for the Nth time.
//!
//! Only builds with the feature `crash-points` have this file. `cargo xtask chaos --points` sets the variable.

use std::sync::atomic::{AtomicU64, Ordering};

/// Does nothing without the variable.
pub(crate) fn set() {
    let Ok(text) = std::env::var("GABFEST_CRASH_AT") else { return };
    let Some((name, Ok(nth))) = text.rsplit_once(':').map(|(name, nth)| (name, nth.parse::<u64>())) else {
        return crate::diagnostics::note(&format!("GABFEST_CRASH_AT is NAME:N, not {text:?}; nothing crashes"));
    };
    let times = AtomicU64::new(0);
    // Nothing is flushed or closed, as after `kill -9`.
    let count = move || {
        if times.fetch_add(1, Ordering::Relaxed) + 1 == nth {
            std::process::abort();
        }
    };
    if let Err(error) = fail::cfg_callback(name, count) {
        crate::diagnostics::note(&format!("GABFEST_CRASH_AT: {error}"));
    }
}
