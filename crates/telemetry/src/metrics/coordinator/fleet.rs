//! The size of the fleet, and the progress of a run.

use record::Usd;

/// The connected workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fleet {
    pub workers: u64,
    /// Of these, in quarantine.
    pub quarantined: u64,
    pub busy_slots: u64,
    pub free_slots: u64,
}

/// What waits in the bounded queues of a coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    pub commands: u64,
    /// Of batches, for the store.
    pub batch_bytes: u64,
    /// Messages for the worker with the most of them.
    pub orders: u64,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Unix milliseconds. Of two runs of a suite the later one is shown.
    pub started_at: i64,
    pub running: bool,
    /// Nothing more starts until it is resumed.
    pub paused: bool,
    pub planned: u64,
    pub leased: u64,
    pub done: u64,
    /// Of a run with a load.
    pub load: Option<Load>,
    /// Of a run with a budget.
    pub money: Option<Money>,
}

/// The money of a run with a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Money {
    /// The most that it may cost.
    pub budget: Usd,
    /// The known cost so far.
    pub spent: Usd,
    /// Held by workers, for calls in flight and calls to come.
    pub reserved: Usd,
}

/// How far a load is. Counts of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Their time has come; of slots, those that began.
    pub offered: u64,
    pub completed: u64,
    /// They found no free slot in time.
    pub dropped: u64,
    /// They run now, or wait for a free slot.
    pub running: u64,
}
