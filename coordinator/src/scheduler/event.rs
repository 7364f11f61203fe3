//! What the scheduler hears and what it orders.

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
    /// A run that is new, was resumed, or was found running after a restart.
    RunStarted {
        run: RunId,
        planned: u64,
        /// Of its plan: a worker must know them all.
        agents: BTreeSet<String>,
        recovered: Recovered,
        /// How long sessions of its leases have been silent.
        silent: BTreeMap<u64, Duration>,
    },
    /// With `drain` trials that are lent may end first.
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
    /// The worker lives, and believes that it holds these, if it says so.
    Beat {
        session: u64,
        held: Option<Vec<Held>>,
    },
    /// Counts up by one from claim to claim; the same number gets the same grant.
    Claimed {
        session: u64,
        number: u64,
        want: u32,
        /// Slots that are free: so many of the granted trials begin at once.
        idle: u32,
    },
    /// The worker has begun these of the trials that it holds.
    Begun {
        session: u64,
        trials: Vec<Held>,
    },
    /// The worker gives these back. Where they were begun, their next attempts have another epoch.
    Released {
        session: u64,
        trials: Vec<Held>,
        begun: bool,
    },
    /// The store has counted these.
    Ended {
        session: u64,
        run: RunId,
        trials: Vec<u64>,
    },
    /// The store has kept how these ended, and they are to be played again.
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
    /// `new`: to be stored before it is sent; else it was sent before.
    Grant { session: u64, claim: u64, leases: Vec<Lease>, new: bool },
    /// To be stored: these are not lent any more. Where they were `begun`, their attempts are lost.
    Release { session: u64, leases: Vec<Lease>, begun: bool },
    /// To be stored with what the session says next: these have begun.
    Begin { session: u64, leases: Vec<Lease> },
    /// To be stored: the session is over and what it holds is lost, of which these had begun. `proof`: it held one
    /// trial, and nothing else can have brought its worker down.
    EndSession { session: u64, reason: &'static str, proof: bool, begun: Vec<Lease> },
    /// To be stored: the trial ends as an ERROR, with this epoch.
    Poison { run: RunId, trial: u64, epoch: u32 },
    /// To be stored: nothing of the run is lent any more.
    Finish { run: RunId, state: RunState, lost_attempts: u64 },
    /// Tell the worker that it does not hold these.
    Fence { session: u64, trials: Vec<Held> },
    /// Tell the worker that its session lives on.
    Renew { session: u64 },
    /// Tell the worker to stop playing the run.
    Stop { session: u64, run: RunId, drain: bool },
}
