//! The events that go into the scheduler, and the actions that come out.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
    time::Duration,
};

use record::summary::RunState;
use scenario::{RunId, load::Schedule};
use store::{Lease, Recovered};

/// What there is to play in a run.
#[derive(Debug, Clone)]
pub enum Work {
    /// So many trials, as fast as slots take them.
    Trials(u64),
    /// The same of a run that stops when it is decided: nothing counts before the trials that come earlier, so what broke is played
    /// again at once.
    Rounds(u64),
    Load {
        schedule: Arc<Schedule>,
        /// How old the load is. `None`: it begins with the first claim.
        elapsed: Option<Duration>,
    },
}

#[derive(Debug, Clone)]
pub enum Event {
    /// A run that is new, resumed, or found running after a restart.
    RunStarted {
        run: RunId,
        work: Work,
        /// The agents of its plan. A worker must know all of them.
        agents: BTreeSet<String>,
        recovered: Box<Recovered>,
        /// How long sessions of its leases have been silent.
        silent: BTreeMap<u64, Duration>,
    },
    /// With `drain`, leased trials may finish first.
    RunStopped {
        run: RunId,
        drain: bool,
    },
    /// These trials are not played any more: their cases are decided. Those that are leased are played, unless they come back.
    Unwanted {
        run: RunId,
        trials: Vec<u64>,
    },
    /// The run is decided: leased trials finish, and then it is finished.
    Concluded {
        run: RunId,
    },
    /// Nothing more of the run is leased, or it is again. Its load stands still in between.
    Paused {
        run: RunId,
        paused: bool,
    },
    /// Somebody changed the rates or slots of a load. What was leased before is due when it was.
    Rescheduled {
        run: RunId,
        schedule: Arc<Schedule>,
    },
    Joined {
        session: u64,
    },
    /// The worker has a stream, knows these agents, and plays so many trials at once.
    Connected {
        session: u64,
        agents: BTreeSet<String>,
        slots: u32,
    },
    Disconnected {
        session: u64,
    },
    /// A sign of life. `held`: the trials that the worker lists; `None` in a brief heartbeat.
    Heartbeat {
        session: u64,
        held: Option<Vec<Held>>,
    },
    /// `number` increases by one; a repeated number gets what the session still holds of the same grant.
    Claimed {
        session: u64,
        number: u64,
        want: u32,
        /// Free slots: this many of the granted trials begin at once.
        idle: u32,
        /// How many more arrivals can wait with the worker until they are due.
        ahead: u32,
    },
    /// The worker has begun these of the trials that it holds.
    Begun {
        session: u64,
        trials: Vec<Held>,
    },
    /// The worker gives trials back. If they had begun, their next attempts have another epoch.
    Released {
        session: u64,
        trials: Vec<Held>,
        begun: bool,
    },
    /// The store has counted these trials.
    Ended {
        session: u64,
        run: RunId,
        trials: Vec<u64>,
    },
    /// These trials have ended and are stored, and will be played again.
    Again {
        session: u64,
        run: RunId,
        trials: Vec<u64>,
    },
    /// The store has these ended trials of the worker. `broken`: whether each was broken, and possibly by the worker.
    Played {
        session: u64,
        run: RunId,
        broken: Vec<bool>,
    },
    /// The worker is done.
    Left {
        session: u64,
    },
    Tick,
}

/// Trials of one run and epoch that a worker says it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub run: RunId,
    pub trials: Range<u64>,
    pub epoch: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// To be stored: the load of the run begins after this time.
    BeginLoad { run: RunId, after: Duration },
    /// `new`: to be stored before it is sent; otherwise it was sent before.
    Grant { session: u64, claim: u64, leases: Vec<Lease>, new: bool },
    /// To be stored: these are no longer leased. If they had `begun`, their attempts are lost.
    Release { session: u64, leases: Vec<Lease>, begun: bool },
    /// To be stored with the session's next message: these have begun.
    Begin { session: u64, leases: Vec<Lease> },
    /// To be stored: the session is over and its trials are lost; `begun` lists those that had started. `proof`: it
    /// held one trial, and only that trial can have crashed its worker.
    EndSession { session: u64, reason: &'static str, proof: bool, begun: Vec<Lease> },
    /// To be stored: the trial ends as an ERROR, with this epoch.
    Poison { run: RunId, trial: u64, epoch: u32 },
    /// To be stored: no trial of the run is leased any longer.
    Finish { run: RunId, state: RunState, lost_attempts: u64 },
    /// Tells the worker that it no longer holds these.
    Fence { session: u64, trials: Vec<Held> },
    /// Tells the worker that its session is alive.
    Renew { session: u64 },
    /// The worker gets nothing new for a while: so many of its last trials were broken.
    Quarantine { session: u64, broken: u64, of: u64 },
    /// The quarantine is over.
    Trust { session: u64 },
    /// Tells the worker to stop playing the run.
    Stop { session: u64, run: RunId, drain: bool },
    /// Asks the worker for those of these trials that wait. It plays on what has begun.
    TakeBack { session: u64, run: RunId, trials: Range<u64> },
}
