//! The settings of a coordinator: its times, and what happens to sessions from before a restart.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    pub timing: Timing,
    pub reclaim: Reclaim,
}

/// What happens to sessions from before this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reclaim {
    /// Workers may come back until their session expires. For workers in other processes.
    #[default]
    AfterTtl,
    /// They are over. For workers in the coordinator's process, which died with it.
    AtOnce,
}

/// The times of the lease protocol. Their order matters:
///
/// - A worker stops by itself 20 s after its last answered heartbeat, and the coordinator leases its trials again after
///   `session_ttl`. So no trial runs twice at once, with 10 s to spare for clocks that differ.
/// - `session_ttl` is 15 heartbeats: a link may lose several, and a machine may pause.
/// - `closed_stream` is shorter, since a closed stream is noticed: the worker starts no call after 1 s without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How often workers send a heartbeat.
    pub heartbeat: Duration,
    /// How long a session lives without a heartbeat.
    pub session_ttl: Duration,
    /// How old the stored time of the last heartbeat may be. Each stored heartbeat costs a disk write; after a restart the
    /// session ends this much earlier.
    pub stored_heartbeat: Duration,
    /// How long a session lives without a stream. A worker starts no call after 1 s without one.
    pub closed_stream: Duration,
    /// How long a worker that hears nothing of the coordinator still uses its shares of limits.
    pub slice: Duration,
    /// How long a trial stays leased without being listed in a heartbeat.
    pub unlisted: Duration,
    /// The same, after a worker has come back to a restarted coordinator.
    pub relisted: Duration,
    /// When a worker whose claim got nothing claims again.
    pub claim_retry: Duration,
    /// The same while a load lets no more conversations run: a slot may be free any moment, and nothing is stored for a claim
    /// that gets nothing.
    pub slot_retry: Duration,
    /// How often the coordinator looks for sessions that are over.
    pub tick: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(2),
            session_ttl: Duration::from_secs(30),
            stored_heartbeat: Duration::from_secs(5),
            closed_stream: Duration::from_secs(3),
            slice: Duration::from_secs(10),
            unlisted: Duration::from_secs(30),
            relisted: Duration::from_secs(6),
            claim_retry: Duration::from_millis(200),
            slot_retry: Duration::from_millis(25),
            tick: Duration::from_millis(500),
        }
    }
}
