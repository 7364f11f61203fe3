//! Who plays what: lends ranges of trials to sessions, and lends again what was lost.
//!
//! No clock, no network, no store: an [`Event`] and the time go in, [`Action`]s come out, to be carried out in
//! order. What it believes is what the store will hold once they are, so after a failed one it must be made
//! anew from [`store::Recovered`].

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    time::Duration,
};

use record::summary::RunState;
use scenario::RunId;
use store::{Lease, Recovered};

use self::{
    run::{Fate, Run},
    session::{Session, Stream},
};
use crate::Timing;

mod event;
mod ranges;
mod run;
mod session;

pub use event::{Action, Event, Held};
pub(crate) use session::lease_id;

/// A worker that asks for more at a time gets this many.
const MOST_WANTED: u64 = 4096;

#[derive(Debug)]
pub struct Scheduler {
    timing: Timing,
    runs: BTreeMap<RunId, Run>,
    sessions: BTreeMap<u64, Session>,
    /// The run that was served last; the next claim is the next run's.
    served: Option<RunId>,
    /// A session that gets nothing new until it is empty, because a trial waits that must be played alone.
    clearing: Option<u64>,
    last_tick: Option<Duration>,
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
            last_tick: None,
            actions: Vec::new(),
        }
    }

    /// `now` is monotonic, since any fixed moment. Events about unknown runs and sessions change nothing.
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Action> {
        match event {
            Event::RunStarted { run, planned, agents, recovered } => {
                self.start_run(run, Run::new(planned, agents, &recovered), &recovered, now);
            }
            Event::RunStopped { run, drain: true } => self.drain_run(&run),
            Event::RunStopped { run, drain: false } => self.cancel_run(&run),
            Event::Joined { session } => {
                let deadline = now + self.timing.session_ttl;
                self.sessions.entry(session).or_insert_with(|| Session::new(deadline));
            }
            Event::Connected { session, agents } => self.connect(session, agents, now),
            Event::Disconnected { session } => {
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.stream = Stream::Closed { at: now };
                }
            }
            Event::Beat { session, held } => self.beat(session, &held, now),
            Event::Claimed { session, number, want } => self.claim(session, number, want, now),
            Event::Released { session, trials, begun } => self.release(session, &trials, begun),
            Event::Ended { session, run, trials } => self.ended(session, &run, &trials, Run::end),
            Event::Again { session, run, trials } => self.ended(session, &run, &trials, Run::end_for_now),
            Event::Left { session } => self.leave(session),
            Event::Tick => self.tick(now),
        }
        std::mem::take(&mut self.actions)
    }

    #[must_use]
    pub fn knows(&self, session: u64) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Sessions with an open stream.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.sessions.values().filter(|session| session.stream == Stream::Open).count()
    }

    /// Trials that the session holds.
    #[must_use]
    pub fn held(&self, session: u64) -> u64 {
        self.sessions.get(&session).map_or(0, Session::count)
    }

    /// The same, by run.
    #[must_use]
    pub fn held_by_run(&self, session: u64) -> Vec<(RunId, u64)> {
        self.sessions.get(&session).map(Session::by_run).unwrap_or_default()
    }

    #[must_use]
    pub fn is_connected(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.stream == Stream::Open)
    }

    /// Whether the session holds trials, or may be lent some of a run that goes on; anybody, between runs.
    #[must_use]
    pub fn plays(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| {
            !session.is_empty() || self.runs.is_empty() || self.runs.values().any(|run| session.can_play(run))
        })
    }

    /// Trials of the run that are lent.
    #[must_use]
    pub fn lent(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.lent)
    }

    /// Attempts of the run that were lost so far.
    #[must_use]
    pub fn lost_attempts(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.lost_attempts)
    }

    /// Why nobody plays what waits of the run although workers are connected, in words.
    #[must_use]
    pub fn waiting_for(&self, run: &RunId) -> Option<String> {
        let run = self.runs.get(run).filter(|run| run.waiting() > 0 || run.waits_solo())?;
        let mut connected = self.sessions.values().filter(|session| session.stream == Stream::Open).peekable();
        connected.peek()?;
        let mut strangers: BTreeSet<&str> = run.agents.iter().map(String::as_str).collect();
        for session in connected {
            if session.can_play(run) {
                return None;
            }
            strangers.retain(|agent| !session.agents.contains(*agent));
        }
        let named = |agents: Vec<&str>| match agents.as_slice() {
            [one] => format!("the agent `{one}`"),
            several => format!("the agents `{}`", several.join("`, `")),
        };
        Some(if strangers.is_empty() {
            format!("no connected worker knows all of {}", named(run.agents.iter().map(String::as_str).collect()))
        } else {
            format!("no connected worker knows {}", named(strangers.into_iter().collect()))
        })
    }

    fn start_run(&mut self, id: RunId, mut run: Run, recovered: &Recovered, now: Duration) {
        if let Some(run) = self.runs.get_mut(&id) {
            // It was being drained, and somebody changed their mind.
            run.draining = false;
            return;
        }
        for lease in &recovered.leases {
            let deadline = now + self.timing.session_ttl;
            let session = self.sessions.entry(lease.session).or_insert_with(|| Session::new(deadline));
            for trial in run.adopt(lease) {
                session.hold(lease, trial, now);
            }
            session.remember(lease);
        }
        for trial in run.poisoned_already() {
            self.actions.push(Action::Poison { run: id.clone(), trial, epoch: run.epoch(trial) });
        }
        self.runs.insert(id.clone(), run);
        self.finish_if_over(&id);
    }

    fn drain_run(&mut self, id: &RunId) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.draining = true;
        for (number, _) in self.sessions.iter().filter(|(_, session)| session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: *number, run: id.clone(), drain: true });
        }
        self.finish_if_over(id);
    }

    fn cancel_run(&mut self, id: &RunId) {
        let Some(run) = self.runs.remove(id) else { return };
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

    fn connect(&mut self, number: u64, agents: BTreeSet<String>, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        session.stream = Stream::Open;
        session.agents = agents;
        session.deadline = now + self.timing.session_ttl;
        // An order to stop may have been lost with the stream before.
        for (id, _) in self.runs.iter().filter(|(id, run)| run.draining && session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: number, run: id.clone(), drain: true });
        }
    }

    fn beat(&mut self, number: u64, listed: &[Held], now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        session.deadline = now + self.timing.session_ttl;
        self.actions.push(Action::Renew { session: number });
        let strangers: Vec<Held> = listed.iter().flat_map(|held| session.see(held, now)).collect();
        if !strangers.is_empty() {
            self.actions.push(Action::Fence { session: number, trials: strangers });
        }
        // A grant that was lost on its way leaves trials with a session that does not know of them, and whose
        // beats would renew them for ever.
        let unlisted = session.take_unseen(number, self.timing.unlisted, now);
        self.give_back(number, unlisted, false);
    }

    fn claim(&mut self, number: u64, claim: u64, want: u32, now: Duration) {
        let Some(session) = self.sessions.get(&number) else { return };
        if claim == session.last_claim {
            let leases = session.last_grant.clone();
            self.actions.push(Action::Grant { session: number, claim, leases, new: false });
            return;
        }
        if claim < session.last_claim || claim > u64::from(u32::MAX) {
            return;
        }
        let leases: Vec<Lease> = self
            .lend(number, u64::from(want).min(MOST_WANTED))
            .into_iter()
            .zip(0_u64..)
            .map(|((run, trials, epoch), index)| Lease {
                id: session::lease_id(number, claim, index),
                run,
                trials,
                epoch,
                session: number,
            })
            .collect();
        if let Some(session) = self.sessions.get_mut(&number) {
            for lease in &leases {
                for trial in lease.trials.clone() {
                    session.hold(lease, trial, now);
                }
            }
            session.last_claim = claim;
            session.last_grant.clone_from(&leases);
        }
        self.actions.push(Action::Grant { session: number, claim, leases, new: true });
    }

    /// What a claim gets: a trial that must be played alone if the session is empty, else a fair share.
    fn lend(&mut self, number: u64, want: u64) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        if want == 0 || self.plays_solo(session) {
            return Vec::new();
        }
        if self.runs.values().any(|run| run.waits_solo() && session.can_play(run)) {
            if session.is_empty() {
                self.clearing = None;
                let playable = self.runs.iter_mut().filter(|(_, run)| session.can_play(run));
                let mut lent = playable.filter_map(|(id, run)| Some((id, run.take_solo()?)));
                return lent
                    .next()
                    .map(|(id, (trial, epoch))| (id.clone(), trial..trial + 1, epoch))
                    .into_iter()
                    .collect();
            }
            if *self.clearing.get_or_insert(number) == number {
                return Vec::new();
            }
        } else if self.clearing == Some(number) {
            self.clearing = None;
        }
        let mut left = self.share(session, want);
        let mut lent = Vec::new();
        for id in self.in_turn() {
            if left == 0 || lent.len() >= session::MOST_LEASES {
                break;
            }
            let Some(run) = self.runs.get_mut(&id).filter(|run| session.can_play(run)) else { continue };
            for (trials, epoch) in run.take(left, session::MOST_LEASES - lent.len()) {
                left -= trials.end - trials.start;
                lent.push((id.clone(), trials, epoch));
                self.served = Some(id.clone());
            }
        }
        lent
    }

    /// Near the end of what there is, sessions share it instead of the first one taking all.
    fn share(&self, session: &Session, want: u64) -> u64 {
        let workers = self.connected() as u64;
        if workers <= 1 {
            return want;
        }
        let waiting: u64 = self.runs.values().filter(|run| session.can_play(run)).map(Run::waiting).sum();
        want.min(waiting.div_ceil(2 * workers).max(1))
    }

    /// All runs, beginning with the one after the run that was served last.
    fn in_turn(&self) -> Vec<RunId> {
        let Some(served) = &self.served else { return self.runs.keys().cloned().collect() };
        let after = self.runs.range::<RunId, _>((Bound::Excluded(served), Bound::Unbounded));
        let before = self.runs.range::<RunId, _>((Bound::Unbounded, Bound::Included(served)));
        after.chain(before).map(|(id, _)| id.clone()).collect()
    }

    fn release(&mut self, number: u64, trials: &[Held], begun: bool) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        let held = trials.iter().flat_map(|given| session.take(number, given)).collect();
        self.give_back(number, held, begun);
    }

    fn leave(&mut self, number: u64) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        let held = session.take_all(number);
        self.give_back(number, held, false);
        self.forget(number);
        self.actions.push(Action::EndSession { session: number, reason: "left", solo: false });
    }

    /// Trials that a session does not play. Where they were not begun, their attempts do not count as lost.
    fn give_back(&mut self, number: u64, leases: Vec<Lease>, begun: bool) {
        if leases.is_empty() {
            return;
        }
        for lease in &leases {
            if let Some(run) = self.runs.get_mut(&lease.run) {
                lease.trials.clone().for_each(|trial| if begun { run.give_up(trial) } else { run.give_back(trial) });
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

    fn tick(&mut self, now: Duration) {
        // Whoever could not tick could not read beats either: sessions are not to blame for that time.
        let slept = self.last_tick.map_or(Duration::ZERO, |last| now.saturating_sub(last));
        if slept > self.timing.tick * 4 {
            self.sessions.values_mut().for_each(|session| session.postpone(slept));
        }
        self.last_tick = Some(now);
        let closed = self.timing.closed_stream;
        let over: Vec<(u64, &'static str)> = self
            .sessions
            .iter()
            .filter_map(|(number, session)| session.over(now, closed).map(|reason| (*number, reason)))
            .collect();
        for (number, reason) in over {
            self.lose(number, reason);
        }
    }

    fn lose(&mut self, number: u64, reason: &'static str) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        // Only a trial that was lent to be alone can be suspected of having brought its worker down: one that is
        // alone because there is no other meets every worker that is lost for reasons of its own.
        let solo = self.plays_solo(&session);
        self.forget(number);
        self.actions.push(Action::EndSession { session: number, reason, solo });
        for lease in session.take_all(number) {
            let Some(run) = self.runs.get_mut(&lease.run) else { continue };
            for trial in lease.trials.clone() {
                if run.lose(trial, solo) == Fate::Poisoned {
                    let epoch = run.epoch(trial);
                    self.actions.push(Action::Poison { run: lease.run.clone(), trial, epoch });
                }
            }
            self.finish_if_over(&lease.run);
        }
    }

    fn plays_solo(&self, session: &Session) -> bool {
        session.only_trial().is_some_and(|(run, trial)| self.runs.get(run).is_some_and(|run| run.must_play_solo(trial)))
    }

    fn forget(&mut self, number: u64) {
        if self.clearing == Some(number) {
            self.clearing = None;
        }
    }

    fn finish_if_over(&mut self, id: &RunId) {
        let Some(run) = self.runs.get(id) else { return };
        let lost_attempts = run.lost_attempts;
        if let Some(state) = run.over() {
            self.runs.remove(id);
            self.actions.push(Action::Finish { run: id.clone(), state, lost_attempts });
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
