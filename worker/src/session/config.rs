//! How a worker presents itself, how long it waits, and how it is asked to stop.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::pacer::Timer;

/// Between two tries to reach the coordinator.
pub(super) const RECONNECT: Duration = Duration::from_millis(200);

/// How a worker presents itself.
#[derive(Debug, Clone)]
pub struct Config {
    /// For people.
    pub name: String,
    /// Concurrent trials.
    pub slots: u32,
    pub timing: Timing,
    /// What paces the starts of arrivals.
    pub timer: Timer,
}

/// How long the worker trusts a silent coordinator.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Without an open stream for this long, no new call starts.
    pub away: Duration,
    /// Without a renewed lease for this long, running trials are abandoned.
    pub self_fence: Duration,
    /// How long to try to reach a coordinator before giving up.
    pub patience: Duration,
    /// How long running trials may take after a drain starts.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            away: Duration::from_secs(1),
            self_fence: Duration::from_secs(20),
            patience: Duration::from_secs(60),
            grace: Duration::from_secs(120),
        }
    }
}

/// How a worker is asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Drain {
    /// Take no more trials, and finish the running ones.
    pub begin: CancellationToken,
    /// Release running trials too, at once. Has no effect before `begin`.
    pub hurry: CancellationToken,
}

impl From<CancellationToken> for Drain {
    fn from(begin: CancellationToken) -> Self {
        Self { begin, hurry: CancellationToken::new() }
    }
}
