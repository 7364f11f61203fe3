//! Leases ranges of trials to sessions, and leases lost trials again.
//!
//! No clock, no network, no store: an [`Event`] and the time go in, [`Action`]s come out, to be carried out in order. Its
//! state is what the store has once all actions are carried out. After a failed action it must be made again from
//! [`store::Recovered`].
//!
//! A trial is in one of these states:
//!
//! ```text
//! fresh ──claim──▶ leased ──ended──▶ done
//!                   │  ▲  └─again──▶ again ──claim──▶ leased, next epoch      (our side broke it)
//!       released or │  │ claim
//!              lost ▼  │
//!                  returned            not begun: same epoch; begun or lost: next epoch
//!                   │                 (of a closed lane and never begun: fresh)
//!                   │ lost twice
//!                   ▼
//!                  suspect ──claim──▶ leased alone ──lost three times, with proof──▶ poisoned, then done
//! ```
//!
//! The epoch is the fencing token: the store counts the end of a trial only with the epoch of a live lease. So a worker
//! that comes back late changes nothing, whatever this scheduler believed about it meanwhile.
//!
//! [`new_lease`] answers claims, [`lost_lease`] notices lost workers, [`poison`] finds the trial that loses them,
//! [`worker_quarantine`] the worker that breaks trials. [`run`] has the queues of one run, [`lanes`] the fresh trials of a
//! load, [`session`] what one worker holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use record::summary::RunState;
use scenario::RunId;
use store::{Lease, Recovered};

use self::{
    new_lease::Wanted,
    run::Run,
    session::{Session, Stream},
    unrest::Unrest,
};
use crate::Timing;

mod conduct;
mod event;
mod lanes;
mod lost_lease;
mod new_lease;
mod pieces;
mod poison;
mod ranges;
mod run;
mod session;
mod shown;
mod unrest;
mod unwanted;
mod worker_quarantine;

pub use event::{Action, Event, Held, Work};
pub(crate) use session::lease_id;

#[derive(Debug)]
pub struct Scheduler {
    timing: Timing,
    runs: BTreeMap<RunId, Run>,
    sessions: BTreeMap<u64, Session>,
    /// The run that was served last. The next claim serves the next run.
    served: Option<RunId>,
    /// A session that gets nothing new until it is empty, so that suspects get a worker to themselves.
    clearing: Option<u64>,
    /// From the first event on.
    unrest: Option<Unrest>,
    last_tick: Option<Duration>,
    /// When the last event came.
    now: Duration,
    actions: Vec<Action>,
}

impl Scheduler {
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            runs: BTreeMap::new(),
            sessions: BTreeMap::new(),
            served: None,
            clearing: None,
            unrest: None,
            last_tick: None,
            now: Duration::ZERO,
            actions: Vec::new(),
        }
    }

    /// `now` is monotonic, measured from any fixed moment. Events about unknown runs and sessions change nothing.
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Action> {
        self.now = now;
        self.unrest.get_or_insert_with(|| Unrest::since(now));
        // What came meanwhile may be read before the tick.
        self.notice_sleep(now);
        match event {
            Event::RunStarted { run, work, agents, recovered, silent } => {
                self.start_run(run, Run::new(work, agents, &recovered, now), &recovered, &silent, now);
            }
            Event::Unwanted { run, trials } => self.stop_wanting(&run, &trials),
            Event::Concluded { run } => self.conclude_run(&run),
            Event::RunStopped { run, drain: true } => self.drain_run(&run, now),
            Event::RunStopped { run, drain: false } => self.cancel_run(&run),
            Event::Paused { run, paused } => {
                if let Some(run) = self.runs.get_mut(&run) {
                    run.pause(paused, now);
                }
            }
            Event::Rescheduled { run, schedule } => {
                if let Some(lanes) = self.runs.get_mut(&run).and_then(|run| run.lanes.as_mut()) {
                    lanes.reschedule(schedule);
                }
                self.take_back_excess(&run, now);
            }
            Event::Joined { session } => {
                let deadline = now + self.timing.session_ttl;
                self.sessions.entry(session).or_insert_with(|| Session::new(deadline));
            }
            Event::Connected { session, agents, slots } => self.connect(session, agents, slots, now),
            Event::Disconnected { session } => {
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.stream = Stream::Closed { at: now };
                }
            }
            Event::Heartbeat { session, held } => self.heartbeat(session, held.as_deref(), now),
            Event::Claimed { session, number, want, idle, ahead } => {
                self.claim(session, number, Wanted { trials: want, idle, ahead }, now);
            }
            Event::Begun { session, trials } => self.begin(session, &trials),
            Event::Released { session, trials, begun } => self.release(session, &trials, begun, now),
            Event::Ended { session, run, trials } => self.ended(session, &run, &trials, Run::end),
            Event::Again { session, run, trials } => self.ended(session, &run, &trials, Run::end_for_now),
            Event::Played { session, run, broken } => self.played(session, &run, &broken, now),
            Event::Left { session } => self.leave(session, now),
            Event::Tick => self.tick(now),
        }
        std::mem::take(&mut self.actions)
    }

    fn start_run(
        &mut self,
        id: RunId,
        mut run: Run,
        recovered: &Recovered,
        silent: &BTreeMap<u64, Duration>,
        now: Duration,
    ) {
        if let Some(run) = self.runs.get_mut(&id) {
            // The run was being drained, and is resumed.
            run.undrain(now);
            return;
        }
        let list_by = now + self.timing.unlisted;
        for lease in &recovered.leases {
            // The session's time kept running while there was no coordinator.
            let silent = silent.get(&lease.session).copied().unwrap_or_default();
            let deadline = now + self.timing.session_ttl.saturating_sub(silent);
            let session = self.sessions.entry(lease.session).or_insert_with(|| Session::new(deadline));
            for trial in run.adopt(lease) {
                session.hold(lease, trial, list_by);
            }
            session.remember(lease);
        }
        for trial in run.poisoned_already() {
            self.actions.push(Action::Poison { run: id.clone(), trial, epoch: run.epoch(trial) });
        }
        self.runs.insert(id.clone(), run);
        self.finish_if_over(&id);
    }

    fn drain_run(&mut self, id: &RunId, now: Duration) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.drain(now);
        for (number, _) in self.sessions.iter().filter(|(_, session)| session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: *number, run: id.clone(), drain: true });
        }
        self.finish_if_over(id);
    }

    fn stop_wanting(&mut self, id: &RunId, trials: &[u64]) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.stop_wanting(trials);
        self.finish_if_over(id);
    }

    /// As a drain, but the run ends finished.
    fn conclude_run(&mut self, id: &RunId) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.unwanted.become_all();
        for (number, _) in self.sessions.iter().filter(|(_, session)| session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: *number, run: id.clone(), drain: true });
        }
        self.finish_if_over(id);
    }

    fn cancel_run(&mut self, id: &RunId) {
        let Some(run) = self.runs.remove(id) else { return };
        self.stop_comparing(id);
        for (number, session) in &mut self.sessions {
            let held = session.drop_run(id, *number);
            if !held.is_empty() {
                self.actions.push(Action::Stop { session: *number, run: id.clone(), drain: false });
                self.actions.push(Action::Release { session: *number, leases: held, begun: false });
            }
        }
        let lost_attempts = run.lost_attempts;
        self.actions.push(Action::Finish { run: id.clone(), state: RunState::Cancelled, lost_attempts });
    }

    fn connect(&mut self, number: u64, agents: BTreeSet<String>, slots: u32, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if session.stream == Stream::Awaited {
            // Otherwise the trials of a lost grant would stay with the session for ever if coordinators keep
            // restarting.
            session.must_list_by(now + self.timing.relisted);
        }
        session.doubt();
        session.stream = Stream::Open;
        (session.agents, session.slots) = (agents, slots);
        session.deadline = now + self.timing.session_ttl;
        // The previous stream may have lost an order to stop.
        self.stop_again(number);
    }

    /// Tells the worker again which runs it holds trials of that nobody may begin.
    fn stop_again(&mut self, number: u64) {
        let Some(session) = self.sessions.get(&number) else { return };
        let stops = |run: &Run| run.is_stopping() || session.conduct.is_quarantined();
        for (id, _) in self.runs.iter().filter(|(id, run)| stops(run) && session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: number, run: id.clone(), drain: true });
        }
    }

    fn heartbeat(&mut self, number: u64, listed: Option<&[Held]>, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        session.deadline = now + self.timing.session_ttl;
        self.actions.push(Action::Renew { session: number });
        let Some(listed) = listed else { return };
        let list_by = now + self.timing.unlisted;
        let strangers: Vec<Held> = listed.iter().flat_map(|held| session.see(held, list_by)).collect();
        if !strangers.is_empty() {
            self.actions.push(Action::Fence { session: number, trials: strangers });
        }
        // A lost grant leaves trials with a session that does not know them, and its heartbeats would renew them for
        // ever.
        // If one of them may have begun, another attempt has another epoch: an agent never sees one attempt twice.
        let (begun, unbegun) = session.take_unlisted(number, now);
        self.give_back(number, begun, true, now);
        self.give_back(number, unbegun, false, now);
    }

    fn begin(&mut self, number: u64, trials: &[Held]) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        let leases: Vec<Lease> = trials.iter().flat_map(|said| session.begin(number, said)).collect();
        if !leases.is_empty() {
            self.actions.push(Action::Begin { session: number, leases });
        }
    }

    fn release(&mut self, number: u64, trials: &[Held], begun: bool, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        let held = trials.iter().flat_map(|given| session.take(number, given)).collect();
        self.give_back(number, held, begun, now);
    }

    fn leave(&mut self, number: u64, now: Duration) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        let held = session.take_all(number);
        self.give_back(number, held, false, now);
        self.forget(number);
        self.actions.push(Action::EndSession { session: number, reason: "left", proof: false, begun: Vec::new() });
    }

    /// Asks workers for what waits with them of closed lanes that have ended, or have fewer slots than are leased.
    fn take_back_excess(&mut self, id: &RunId, now: Duration) {
        let Some(lanes) = self.runs.get(id).and_then(|run| run.lanes.as_ref()) else { return };
        for trials in lanes.overfull(now).into_iter().map(lanes::numbers_of) {
            let may_wait = |(_, session): &(&u64, &Session)| session.holds_first_attempt_of(id, &trials);
            let asked = self.sessions.iter().filter(may_wait).map(|(session, _)| Action::TakeBack {
                session: *session,
                run: id.clone(),
                trials: trials.clone(),
            });
            self.actions.extend(asked);
        }
    }

    /// Takes back trials that a session does not play. Attempts that had not begun do not count as lost.
    fn give_back(&mut self, number: u64, leases: Vec<Lease>, begun: bool, now: Duration) {
        if leases.is_empty() {
            return;
        }
        for lease in &leases {
            if let Some(run) = self.runs.get_mut(&lease.run) {
                let trials: Vec<u64> = lease.trials.clone().collect();
                if begun { run.give_up(&trials, now) } else { run.give_back(&trials, now) }
            }
        }
        let runs: Vec<RunId> = leases.iter().map(|lease| lease.run.clone()).collect();
        self.actions.push(Action::Release { session: number, leases, begun });
        runs.iter().for_each(|run| self.finish_if_over(run));
    }

    fn ended(&mut self, number: u64, id: &RunId, trials: &[u64], end: fn(&mut Run, u64)) {
        let Some(run) = self.runs.get_mut(id) else { return };
        let mut session = self.sessions.get_mut(&number);
        for trial in trials {
            if let Some(session) = &mut session {
                session.forget(id, *trial);
            }
            end(run, *trial);
        }
        self.finish_if_over(id);
    }

    /// Whether no worker was lost for a while, as far as is known.
    fn is_calm(&self, now: Duration) -> bool {
        self.unrest.as_ref().is_some_and(|unrest| unrest.is_calm(now))
    }

    /// A session that holds a suspect holds nothing else.
    fn plays_suspects(&self, session: &Session) -> bool {
        session.any_trial().is_some_and(|(run, trial)| self.runs.get(run).is_some_and(|run| run.is_suspect(trial)))
    }

    fn forget(&mut self, number: u64) {
        if self.clearing == Some(number) {
            self.clearing = None;
        }
    }

    fn finish_if_over(&mut self, id: &RunId) {
        let Some(run) = self.runs.get(id) else { return };
        let lost_attempts = run.lost_attempts;
        if let Some(state) = run.over(self.now) {
            self.runs.remove(id);
            self.stop_comparing(id);
            self.actions.push(Action::Finish { run: id.clone(), state, lost_attempts });
        }
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
