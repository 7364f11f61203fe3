//! A scheduler with its clock, and short ways to say events.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use scenario::RunId;
use store::{Lease, Recovered};

use super::super::{Action, Event, Held, Scheduler, Work, lease_id};
use crate::Timing;

pub(super) struct Harness {
    pub(super) scheduler: Scheduler,
    pub(super) now: Duration,
    pub(super) claims: u64,
}

pub(super) fn run(name: &str) -> RunId {
    RunId::new(name)
}

pub(super) fn held(name: &str, trials: Range<u64>, epoch: u32) -> Held {
    Held { run: run(name), trials, epoch }
}

pub(super) fn agents(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Harness {
    /// A run `a` and connected sessions 1, 2, …; all have the agent `mock`.
    pub(super) fn new(planned: u64, sessions: u64) -> Self {
        let mut harness = Self { scheduler: Scheduler::new(Timing::default()), now: Duration::ZERO, claims: 0 };
        harness.start("a", planned, Recovered::default());
        (1..=sessions).for_each(|session| harness.join(session));
        harness
    }

    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        self.scheduler.on(event, self.now)
    }

    pub(super) fn start(&mut self, name: &str, planned: u64, recovered: Recovered) -> Vec<Action> {
        self.start_after(name, planned, recovered, BTreeMap::new())
    }

    pub(super) fn start_knowing(&mut self, name: &str, planned: u64, agents: BTreeSet<String>) {
        let (recovered, silent) = (Recovered::default(), BTreeMap::new());
        let work = Work::Trials(planned);
        self.on(Event::RunStarted { run: run(name), work, agents, recovered: recovered.into(), silent });
    }

    /// `silent`: how long ago each session was last heard.
    pub(super) fn start_after(
        &mut self,
        name: &str,
        planned: u64,
        recovered: Recovered,
        silent: BTreeMap<u64, Duration>,
    ) -> Vec<Action> {
        let work = Work::Trials(planned);
        self.on(Event::RunStarted {
            run: run(name),
            work,
            agents: agents(&["mock"]),
            recovered: recovered.into(),
            silent,
        })
    }

    pub(super) fn join(&mut self, session: u64) {
        self.join_knowing(session, &["mock"]);
    }

    pub(super) fn join_knowing(&mut self, session: u64, names: &[&str]) {
        self.on(Event::Joined { session });
        self.on(Event::Connected { session, agents: agents(names), slots: 8 });
    }

    pub(super) fn reconnect(&mut self, session: u64) -> Vec<Action> {
        self.on(Event::Connected { session, agents: agents(&["mock"]), slots: 8 })
    }

    /// Ticks on time, so that the coordinator does not appear to have slept.
    pub(super) fn wait(&mut self, seconds: f64) -> Vec<Action> {
        let end = self.now + Duration::from_secs_f64(seconds);
        let mut actions = Vec::new();
        while self.now < end {
            self.now += Duration::from_millis(500);
            actions.extend(self.on(Event::Tick));
        }
        actions
    }

    pub(super) fn claim(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        self.claims += 1;
        self.claim_again(session, want)
    }

    pub(super) fn claim_again(&mut self, session: u64, want: u32) -> Vec<(String, Range<u64>, u32)> {
        self.claim_with(session, want, want)
    }

    pub(super) fn claim_with_idle(&mut self, session: u64, want: u32, idle: u32) -> Vec<(String, Range<u64>, u32)> {
        self.claims += 1;
        self.claim_with(session, want, idle)
    }

    /// `idle`: how many trials begin at once.
    pub(super) fn claim_with(&mut self, session: u64, want: u32, idle: u32) -> Vec<(String, Range<u64>, u32)> {
        let number = self.claims;
        match self.on(Event::Claimed { session, number, want, idle, ahead: 0 }).as_slice() {
            // The last worker is trusted again first.
            [Action::Grant { leases, .. }] | [Action::Trust { .. }, Action::Grant { leases, .. }] => {
                leases.iter().map(|lease| (lease.run.to_string(), lease.trials.clone(), lease.epoch)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn heartbeat(&mut self, session: u64, held: Vec<Held>) -> Vec<Action> {
        self.on(Event::Heartbeat { session, held: Some(held) })
    }

    pub(super) fn end(&mut self, session: u64, trials: Range<u64>) -> Vec<Action> {
        self.on(Event::Ended { session, run: run("a"), trials: trials.collect() })
    }

    /// Ends these, of which the first `broken` were broken by the worker.
    pub(super) fn play(&mut self, session: u64, trials: Range<u64>, broken: u64) -> Vec<Action> {
        let broken = (0..trials.end - trials.start).map(|index| index < broken).collect();
        self.end(session, trials);
        self.on(Event::Played { session, run: run("a"), broken })
    }

    /// The worker is gone.
    pub(super) fn lose(&mut self, session: u64) -> Vec<Action> {
        self.on(Event::Disconnected { session });
        self.wait(3.0)
    }
}

/// All of it has begun.
pub(super) fn lease(session: u64, claim: u64, trials: Range<u64>) -> Lease {
    let begun = trials.end;
    Lease { id: lease_id(session, claim, 0), run: run("a"), trials, epoch: 1, session, begun }
}

pub(super) fn ended(session: u64, reason: &'static str, begun: Vec<Lease>) -> Action {
    Action::EndSession { session, reason, proof: false, begun }
}

pub(super) fn a(trials: Range<u64>, epoch: u32) -> (String, Range<u64>, u32) {
    ("a".to_owned(), trials, epoch)
}
