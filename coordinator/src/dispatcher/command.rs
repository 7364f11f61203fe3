//! The commands of the dispatcher, the messages of workers, and the orders to them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use record::{Tally, Usd, summary::RunState};
use scenario::{Digest, Plan, RunId};
use store::{Commit, Lease, RunRow};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio_util::sync::DropGuard;

use super::{error::Error, shares::Share};
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
        /// Dropped to end the stream.
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
        /// Also play the agent's failures again.
        failed: bool,
        reply: Reply<Resumed>,
    },
    Cancel {
        run: RunId,
        drain: bool,
        reply: Reply<RunState>,
    },
    /// `None` if the run is not in memory.
    Watch {
        run: RunId,
        reply: oneshot::Sender<Option<watch::Receiver<Progress>>>,
    },
    /// `None` if the run is not in memory.
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
    /// The agents in its settings.
    pub(crate) agents: BTreeSet<String>,
    /// Trials at the same time; 0 from workers that do not tell.
    pub(crate) slots: u32,
    /// For people.
    pub(crate) name: String,
    pub(crate) version: String,
}

/// A message of a worker.
#[derive(Debug)]
pub(crate) enum Message {
    Heartbeat {
        /// `None` in a brief heartbeat.
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
    /// `room` bounds how much may wait. It is released once the batch is stored.
    Batch {
        commit: Box<Commit>,
        room: OwnedSemaphorePermit,
    },
    /// A batch that can never be stored. The session goes on.
    Unstorable {
        sequence: u64,
        refusal: Refusal,
    },
    Release {
        trials: Vec<Held>,
        begun: bool,
    },
    Leave,
    /// It keeps to this share of its limits.
    ShareTaken {
        share: Share,
    },
    /// A violation of the protocol: the session ends.
    Malformed {
        reason: String,
    },
}

/// Why a batch is refused, and the trials at fault; none: any attempt of the batch may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) trials: Vec<Held>,
}

/// A message to a worker.
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
