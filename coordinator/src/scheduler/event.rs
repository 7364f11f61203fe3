//! The events that go into the scheduler, and the actions that come out.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use record::summary::RunState;
use scenario::RunId;
use store::{Lease, Recovered};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A run that is new, resumed, or found running after a restart.
    RunStarted {
        run: RunId,
        planned: u64,
        /// The agents of its plan. A worker must know all of them.
        agents: BTreeSet<String>,
        recovered: Recovered,
        /// How long sessions of its leases have been silent.
        silent: BTreeMap<u64, Duration>,
    },
    /// With `drain`, leased trials may end first.
    RunStopped {
        run: RunId,
        drain: bool,
    },
    Joined {
        session: u64,
    },
    /// The worker has a stream, and knows these agents.
    Connected {
        session: u64,
        agents: BTreeSet<String>,
    },
    Disconnected {
        session: u64,
    },
    /// The worker lives. `held`: the trials that it lists; `None` in a brief heartbeat.
    Heartbeat {
        session: u64,
        held: Option<Vec<Held>>,
    },
    /// `number` counts up by one; the same number gets the same grant.
    Claimed {
        session: u64,
        number: u64,
        want: u32,
        /// Free slots: this many of the granted trials begin at once.
        idle: u32,
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
    /// The store has the ends of these trials, and they are played again.
    Again {
        session: u64,
        run: RunId,
        trials: Vec<u64>,
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
    /// `new`: to be stored before it is sent; otherwise it was sent before.
    Grant { session: u64, claim: u64, leases: Vec<Lease>, new: bool },
    /// To be stored: these are not leased any more. If they had `begun`, their attempts are lost.
    Release { session: u64, leases: Vec<Lease>, begun: bool },
    /// To be stored with the session's next message: these have begun.
    Begin { session: u64, leases: Vec<Lease> },
    /// To be stored: the session is over and its trials are lost, of which these had begun. `proof`: it held one trial, and
    /// only that trial can have crashed its worker.
    EndSession { session: u64, reason: &'static str, proof: bool, begun: Vec<Lease> },
    /// To be stored: the trial ends as an ERROR, with this epoch.
    Poison { run: RunId, trial: u64, epoch: u32 },
    /// To be stored: nothing of the run is leased any more.
    Finish { run: RunId, state: RunState, lost_attempts: u64 },
    /// Tell the worker that it does not hold these.
    Fence { session: u64, trials: Vec<Held> },
    /// Tell the worker that its session lives on.
    Renew { session: u64 },
    /// Tell the worker to stop playing the run.
    Stop { session: u64, run: RunId, drain: bool },
}
