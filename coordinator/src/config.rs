//! What a coordinator is told when it starts: its times, and what it may do with sessions of before.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    pub timing: Timing,
    pub reclaim: Reclaim,
}

/// What becomes of sessions that the store knows from before this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reclaim {
    /// Their workers may come back until the sessions' time is over: for workers that are other processes.
    #[default]
    AfterTtl,
    /// They are over: for workers that lived and died with the coordinator's process.
    AtOnce,
}

/// Workers renew at `beat`, stop by themselves after 20 s without an answer, and are given up after `session_ttl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How often workers say that they live.
    pub beat: Duration,
    /// How long a session lives without a beat.
    pub session_ttl: Duration,
    /// How old the stored time of a session's last beat may be: so much earlier it is over after a restart.
    pub stored_beat: Duration,
    /// How long a session lives without a stream. A worker starts no call after 1 s without one.
    pub closed_stream: Duration,
    /// How long a trial stays lent that no beat lists.
    pub unlisted: Duration,
    /// The same, once its worker has come back to a coordinator that was started again.
    pub relisted: Duration,
    /// When a worker that got nothing asks again.
    pub claim_retry: Duration,
    /// How often the coordinator looks for sessions that are over.
    pub tick: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(2),
            session_ttl: Duration::from_secs(30),
            stored_beat: Duration::from_secs(5),
            closed_stream: Duration::from_secs(3),
            unlisted: Duration::from_secs(30),
            relisted: Duration::from_secs(6),
            claim_retry: Duration::from_millis(200),
            tick: Duration::from_millis(500),
        }
    }
}
