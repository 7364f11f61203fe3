//! What the dispatcher is asked for, and what it orders workers to do.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use record::{Tally, Usd, summary::RunState};
use scenario::{Digest, Plan, RunId};
use store::{Commit, Lease, RunRow};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio_util::sync::DropGuard;

use super::{Error, shares::Share};
use crate::{Progress, scheduler::Held, token::Token};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

#[derive(Debug)]
pub(crate) enum Command {
    Join {
        worker: String,
        reply: Reply<(u64, Token)>,
    },
    /// A stream for a session; the reply numbers it.
    Open {
        session: u64,
        token: Token,
        worker: Capacity,
        orders: mpsc::Sender<Order>,
        /// Dropped when the stream is not wanted any more.
        wanted: DropGuard,
        reply: Reply<u64>,
    },
    Hear {
        session: u64,
        stream: u64,
        message: Message,
    },
    Close {
        session: u64,
        stream: u64,
    },
    Submit {
        row: RunRow,
        plan: Arc<Plan>,
        json: Bytes,
        reply: Reply<()>,
    },
    Resume {
        run: RunId,
        /// Also what was held against the agent.
        failed: bool,
        reply: Reply<Resumed>,
    },
    Cancel {
        run: RunId,
        drain: bool,
        reply: Reply<RunState>,
    },
    /// Nothing, if the run is not in memory.
    Watch {
        run: RunId,
        reply: oneshot::Sender<Option<watch::Receiver<Progress>>>,
    },
    /// Nothing, if the run is not in memory.
    Snapshot {
        run: RunId,
        reply: oneshot::Sender<Option<Snapshot>>,
    },
    Workers {
        reply: oneshot::Sender<Vec<WorkerShown>>,
    },
}

/// What a worker can play.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Capacity {
    /// Those that it knows.
    pub(crate) agents: BTreeSet<String>,
    /// Trials at the same time; 0 from workers that do not say it.
    pub(crate) slots: u32,
    /// For people.
    pub(crate) name: String,
    pub(crate) version: String,
}

/// What a worker says on its stream.
#[derive(Debug)]
pub(crate) enum Message {
    Beat {
        /// Nothing, if it does not say.
        held: Option<Vec<Held>>,
        unsettled: Usd,
    },
    Claim {
        number: u64,
        want: u32,
        idle: u32,
    },
    Begun {
        trials: Vec<Held>,
    },
    /// `room` is given back when the batch was stored: so much may wait.
    Batch {
        commit: Box<Commit>,
        room: OwnedSemaphorePermit,
    },
    /// A batch that can never be stored; its session goes on.
    Unstorable {
        sequence: u64,
        refusal: Refusal,
    },
    Release {
        trials: Vec<Held>,
        begun: bool,
    },
    Leave,
    /// It keeps to this part of its limits.
    ShareTaken {
        share: Share,
    },
    /// Not what the protocol says; the session cannot go on.
    Malformed {
        reason: String,
    },
}

/// Why a batch is never taken, and whose words are to blame; nobody named: it may be any attempt of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) trials: Vec<Held>,
}

/// What a worker is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Welcome { acknowledged: u64 },
    Grant { claim: u64, leases: Vec<(Lease, Digest)>, retry: Duration },
    Acknowledged { sequence: u64 },
    Refused { sequence: u64, refusal: Refusal },
    Fenced { trials: Vec<Held> },
    Renewed { ttl: Duration },
    Received { bytes: u64 },
    Stop { run: RunId, drain: bool },
    Share(Share),
    Goodbye { reason: String },
}

/// A worker as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerShown {
    pub(crate) session: u64,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) slots: u32,
    /// Since its last heartbeat or the beginning of its stream.
    pub(crate) silent: Duration,
    /// Trials that it holds, by run.
    pub(crate) playing: Vec<(RunId, u64)>,
    pub(crate) connected: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resumed {
    pub(crate) planned: u64,
    pub(crate) done: u64,
    /// Trials that had ended and are played again.
    pub(crate) again: u64,
}

/// The numbers of a run at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) row: RunRow,
    pub(crate) plan: Arc<Plan>,
    pub(crate) tally: Tally,
}
