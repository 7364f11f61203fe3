//! The commands of the dispatcher, the messages of workers, and the orders to them.

use std::{collections::BTreeSet, ops::Range, sync::Arc, time::Duration};

use bytes::Bytes;
use record::{Tally, Usd, named_limits::NamedLimits, runner::Sample, summary::RunState};
use scenario::{Digest, Plan, RunId, load::RateChange};
use statistics::sequential::suite::Suite;
use store::{Commit, Lease, RunRow};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::DropGuard;

use super::{
    allocator::{Funds, Word},
    error::Error,
    limit_words::{DayGrant, DayWord, Health},
    shares::{Demand, Share},
};
use crate::{Progress, scheduler::Held, token::Token};

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;
/// Who asks, by the name in their certificate.
pub(crate) type By = Option<String>;

#[derive(Debug)]
pub(crate) enum Command {
    Join {
        worker: String,
        /// The identity in its certificate.
        owner: String,
        reply: Reply<(u64, Token)>,
    },
    /// A stream for a session; the reply numbers it.
    Open {
        session: u64,
        /// What the store must have for the session.
        proof: Digest,
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
        /// When it was read.
        heard: Instant,
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
        by: By,
        /// Also play the agent's failures again.
        failed: bool,
        /// What it may cost from now on; `None`: as before.
        max_cost: Option<Usd>,
        reply: Reply<Resumed>,
    },
    Cancel {
        run: RunId,
        by: By,
        drain: bool,
        reply: Reply<RunState>,
    },
    Pause {
        run: RunId,
        by: By,
        reply: Reply<()>,
    },
    SetSlots {
        run: RunId,
        by: By,
        /// Of the load; `None`: all with slots.
        group: Option<String>,
        slots: u32,
        reply: Reply<()>,
    },
    SetRate {
        run: RunId,
        by: By,
        /// Of the load; `None`: all with a rate.
        group: Option<String>,
        /// Starts a second.
        rate: f64,
        /// In how long it holds.
        reply: Reply<Duration>,
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
    /// Trials at the same time; 0 if the worker does not report it.
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
        /// How loaded the worker's machine is; `None` from older workers.
        runner: Option<Sample>,
        /// What it says of its slices of money.
        purses: Vec<(RunId, Word)>,
    },
    Claim {
        number: u64,
        want: u32,
        idle: u32,
        ahead: u32,
    },
    Begun {
        trials: Vec<Held>,
    },
    /// What it says of its slice of a run's money.
    Purse {
        run: RunId,
        word: Word,
    },
    /// What it needs of its limits: those that changed.
    Limits {
        limits: Vec<LimitWord>,
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
    /// It keeps to this share of a limit.
    ShareTaken {
        limit: String,
        share: Share,
    },
    /// A violation of the protocol: the session ends.
    Malformed {
        reason: String,
    },
}

/// What a worker says of one limit: of an endpoint and its model, or of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitWord {
    pub(crate) name: String,
    pub(crate) demand: Demand,
    pub(crate) health: Health,
    /// Of its requests of the day, if they are limited.
    pub(crate) day: Option<DayWord>,
}

/// Why a batch is refused, and the trials at fault. Without any, each attempt of the batch may be at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) trials: Vec<Held>,
}

/// A message to a worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// `heard`: when the question was read, on the scheduler's clock.
    Welcome {
        acknowledged: u64,
        heard: Duration,
    },
    Grant {
        claim: u64,
        leases: Vec<Granted>,
        retry: Duration,
        heard: Duration,
    },
    Acknowledged {
        sequence: u64,
    },
    Refused {
        sequence: u64,
        refusal: Refusal,
    },
    Fenced {
        trials: Vec<Held>,
    },
    Renewed {
        ttl: Duration,
        heard: Duration,
    },
    Received {
        bytes: u64,
    },
    Stop {
        run: RunId,
        drain: bool,
    },
    /// It gives back those of these trials that wait.
    TakeBack {
        run: RunId,
        trials: Range<u64>,
    },
    /// What it may use of a limit.
    Share {
        limit: String,
        share: Share,
    },
    /// The money of a run that it may spend.
    Funds {
        run: RunId,
        funds: Funds,
    },
    /// Another worker saw that an endpoint throttles.
    Pause {
        limit: String,
        pause: Duration,
    },
    /// The provider's limits that the workers have learned together.
    Learned {
        limit: String,
        named: NamedLimits,
    },
    /// What it got of the requests of a day.
    Day {
        limit: String,
        grant: DayGrant,
    },
    Goodbye {
        reason: String,
    },
    /// The stream cannot be opened now. The session is not over.
    Retry {
        reason: String,
    },
}

/// A lease as its worker gets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Granted {
    pub(crate) lease: Lease,
    pub(crate) plan: Digest,
    /// When the load of the run began, in microseconds on the scheduler's clock.
    pub(crate) began: Option<i64>,
    /// How the rate of its lane was changed.
    pub(crate) rates: Vec<RateChange>,
    /// The run has a budget.
    pub(crate) budget: bool,
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
    pub(crate) quarantined: bool,
    /// Until it can be compared with other workers.
    pub(crate) held_back: bool,
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
    /// Of a run that stops when it is decided.
    pub(crate) suite: Option<Suite>,
}
