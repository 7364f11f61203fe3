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
    run::Run,
    session::{Lent, Session, Stream},
    suspects::Circumstances,
    unrest::{Loss, Unrest},
};
use crate::Timing;

mod event;
mod ranges;
mod run;
mod session;
mod shown;
mod suspects;
mod unrest;

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
    /// A session that gets nothing new until it is empty, because suspects wait that must be by themselves.
    clearing: Option<u64>,
    /// From the first event on.
    unrest: Option<Unrest>,
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
            unrest: None,
            last_tick: None,
            actions: Vec::new(),
        }
    }

    /// `now` is monotonic, since any fixed moment. Events about unknown runs and sessions change nothing.
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Action> {
        self.unrest.get_or_insert_with(|| Unrest::since(now));
        match event {
            Event::RunStarted { run, planned, agents, recovered, silent } => {
                self.start_run(run, Run::new(planned, agents, &recovered), &recovered, &silent, now);
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
            Event::Beat { session, held } => self.beat(session, held.as_deref(), now),
            Event::Claimed { session, number, want, idle } => self.claim(session, number, (want, idle), now),
            Event::Begun { session, trials } => self.begin(session, &trials),
            Event::Released { session, trials, begun } => self.release(session, &trials, begun, now),
            Event::Ended { session, run, trials } => self.ended(session, &run, &trials, Run::end),
            Event::Again { session, run, trials } => self.ended(session, &run, &trials, Run::end_for_now),
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
            // It was being drained, and somebody changed their mind.
            run.draining = false;
            return;
        }
        let list_by = now + self.timing.unlisted;
        for lease in &recovered.leases {
            // Its time has gone on while nobody was there to hear it.
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
        if session.stream == Stream::Awaited {
            // Else what a lost grant left would stay with it for ever where coordinators restart again and again.
            session.must_list_by(now + self.timing.relisted);
        }
        session.stream = Stream::Open;
        session.agents = agents;
        session.deadline = now + self.timing.session_ttl;
        // An order to stop may have been lost with the stream before.
        for (id, _) in self.runs.iter().filter(|(id, run)| run.draining && session.holds_any_of(id)) {
            self.actions.push(Action::Stop { session: number, run: id.clone(), drain: true });
        }
    }

    fn beat(&mut self, number: u64, listed: Option<&[Held]>, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        session.deadline = now + self.timing.session_ttl;
        self.actions.push(Action::Renew { session: number });
        let Some(listed) = listed else { return };
        let list_by = now + self.timing.unlisted;
        let strangers: Vec<Held> = listed.iter().flat_map(|held| session.see(held, list_by)).collect();
        if !strangers.is_empty() {
            self.actions.push(Action::Fence { session: number, trials: strangers });
        }
        // A grant that was lost on its way leaves trials with a session that does not know of them, and whose
        // beats would renew them for ever.
        let unlisted = session.take_unlisted(number, now);
        self.give_back(number, unlisted, false, now);
    }

    /// `wanted`: how many trials, and how many of them begin at once.
    fn claim(&mut self, number: u64, claim: u64, wanted: (u32, u32), now: Duration) {
        let list_by = now + self.timing.unlisted;
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if claim == session.last_claim {
            session.send_again(list_by);
            let leases = session.last_grant.clone();
            self.actions.push(Action::Grant { session: number, claim, leases, new: false });
            return;
        }
        if claim < session.last_claim || claim > u64::from(u32::MAX) {
            return;
        }
        let (want, mut idle) = (u64::from(wanted.0).min(MOST_WANTED), u64::from(wanted.1));
        let leases: Vec<Lease> = self
            .lend(number, want, now)
            .into_iter()
            .zip(0_u64..)
            .map(|((run, trials, epoch), index)| {
                let begun = trials.end.min(trials.start.saturating_add(idle));
                idle -= begun - trials.start;
                Lease { id: session::lease_id(number, claim, index), run, trials, epoch, session: number, begun }
            })
            .collect();
        if let Some(session) = self.sessions.get_mut(&number) {
            for lease in &leases {
                for trial in lease.trials.clone() {
                    session.hold(lease, trial, list_by);
                }
            }
            session.last_claim = claim;
            session.last_grant.clone_from(&leases);
        }
        self.actions.push(Action::Grant { session: number, claim, leases, new: true });
    }

    /// What a claim gets: a fair share of what is healthy. A run without that lends a group of its suspects to a session
    /// that holds nothing else.
    fn lend(&mut self, number: u64, want: u64, now: Duration) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        if want == 0 || self.plays_suspects(session) {
            return Vec::new();
        }
        let calm = self.is_calm(now);
        let has_work = |run: &&Run| session.can_play(run) && (run.waiting() > 0 || run.has_suspects(now, calm));
        let next = self.in_turn().into_iter().find(|id| self.runs.get(id).filter(has_work).is_some());
        let suspicious = next.filter(|id| self.runs.get(id).is_some_and(|run| run.has_suspects(now, calm)));
        match suspicious {
            Some(id) if session.is_empty() => return self.lend_suspects(number, id, want, now),
            Some(_) if *self.clearing.get_or_insert(number) == number => return Vec::new(),
            Some(_) => {}
            None => self.forget(number),
        }
        self.lend_healthy(number, want)
    }

    fn lend_suspects(&mut self, number: u64, id: RunId, want: u64, now: Duration) -> Vec<(RunId, Range<u64>, u32)> {
        self.forget(number);
        let calm = self.is_calm(now);
        let (Some(run), Some(session)) = (self.runs.get_mut(&id), self.sessions.get_mut(&number)) else {
            return Vec::new();
        };
        let (taken, lost_with) = run.take_suspects(want, session::MOST_LEASES, now, calm);
        let single = taken.iter().map(|(trials, _)| trials.end - trials.start).sum::<u64>() == 1;
        session.suspects = Some(Lent { at: now, lost_with, single });
        self.served = Some(id.clone());
        taken.into_iter().map(|(trials, epoch)| (id.clone(), trials, epoch)).collect()
    }

    fn lend_healthy(&mut self, number: u64, want: u64) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
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

    /// Whether no worker was lost for a while, as far as is known.
    fn is_calm(&self, now: Duration) -> bool {
        self.unrest.as_ref().is_some_and(|unrest| unrest.is_calm(now))
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

    /// Trials that a session does not play. Where they were not begun, their attempts do not count as lost.
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

    fn tick(&mut self, now: Duration) {
        // Whoever could not tick could not read beats either: sessions are not to blame for that time.
        let slept = self.last_tick.map_or(Duration::ZERO, |last| now.saturating_sub(last));
        if slept > self.timing.tick * 4 {
            self.sessions.values_mut().for_each(|session| session.postpone(slept));
            self.unrest.get_or_insert_with(|| Unrest::since(now)).overslept(now);
        }
        self.last_tick = Some(now);
        let closed = self.timing.closed_stream;
        let over: Vec<(u64, &'static str)> = self
            .sessions
            .iter()
            .filter_map(|(number, session)| session.over(now, closed).map(|reason| (*number, reason)))
            .collect();
        let unrest = self.unrest.get_or_insert_with(|| Unrest::since(now));
        let losses: Vec<Loss> = over.iter().map(|_| unrest.add(now)).collect();
        for ((number, reason), loss) in over.into_iter().zip(losses) {
            self.lose(number, reason, loss, now);
        }
    }

    fn lose(&mut self, number: u64, reason: &'static str, loss: Loss, now: Duration) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        let begun = session.begun(number);
        let how = self.circumstances(&session, &begun, loss);
        self.forget(number);
        self.actions.push(Action::EndSession { session: number, reason, proof: how.proof, begun });
        for (id, lost) in session.lose_all() {
            let Some(run) = self.runs.get_mut(&id) else { continue };
            for trial in run.lose(&lost, &how, now) {
                let epoch = run.epoch(trial);
                self.actions.push(Action::Poison { run: id.clone(), trial, epoch });
            }
            self.finish_if_over(&id);
        }
    }

    /// Only what had its worker for itself while all others lived can be what brought it down.
    fn circumstances(&self, session: &Session, begun: &[Lease], loss: Loss) -> Circumstances {
        let lent = session.suspects.as_ref().filter(|_| self.plays_suspects(session));
        let (Some(lent), Some(unrest)) = (lent, &self.unrest) else {
            return Circumstances { lost_with: vec![loss], ..Circumstances::default() };
        };
        let mut lost_with = lent.lost_with.clone();
        lost_with.push(loss);
        let one_had_begun = begun.iter().map(Lease::begun_trials).sum::<u64>() == 1;
        let proof = lent.single && one_had_begun && unrest.is_calm_but_for(lent.at, &[loss]);
        Circumstances { alone: lent.single, halves: unrest.only(lent.at, &lost_with), lost_with, proof }
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
