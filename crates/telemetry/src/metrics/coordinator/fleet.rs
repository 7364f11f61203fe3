//! The size of the fleet, and the progress of a run.

/// The connected workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fleet {
    pub workers: u64,
    pub busy_slots: u64,
    pub free_slots: u64,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Unix milliseconds. Of two runs of a suite the later one is shown.
    pub started_at: i64,
    pub running: bool,
    pub planned: u64,
    pub lent: u64,
    pub done: u64,
}
