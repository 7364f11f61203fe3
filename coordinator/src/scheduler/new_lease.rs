//! Claims: which trials a session gets, from which run.

use std::{
    ops::{Bound, Range},
    time::Duration,
};

use scenario::RunId;
use store::Lease;

use super::{
    Action, Scheduler,
    conduct::Allowance,
    lanes::Place,
    run::{Room, Run},
    session::{self, Session, SuspectLease},
};

/// A worker that asks for more at a time gets this many.
const MOST_WANTED: u64 = 4096;

/// How many trials a worker asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) trials: u32,
    /// So many of them begin at once.
    pub(super) idle: u32,
    /// Arrivals that wait until they are due, separate from the trials.
    pub(super) ahead: u32,
}

impl Scheduler {
    /// Answers a claim.
    pub(super) fn claim(&mut self, number: u64, claim: u64, wanted: Wanted, now: Duration) {
        let list_by = now + self.timing.unlisted;
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if claim == session.last_claim {
            let leases = session.send_again(number, list_by);
            self.actions.push(Action::Grant { session: number, claim, leases, new: false });
            // The run may have been stopped since: before a restart, or while the first grant got lost.
            self.stop_again(number);
            return;
        }
        if claim < session.last_claim || claim > u64::from(u32::MAX) {
            return;
        }
        self.begin_loads(number, now);
        let mut idle = u64::from(wanted.idle);
        let leases: Vec<Lease> = self
            .lease(number, wanted, now)
            .into_iter()
            .zip(0_u64..)
            .map(|((run, trials, epoch), index)| {
                // Arrivals begin when they are due.
                let at_once = if self.is_arrival(&run, trials.start) { 0 } else { idle };
                let begun = trials.end.min(trials.start.saturating_add(at_once));
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

    /// A load begins when the first worker that can play it claims.
    fn begin_loads(&mut self, number: u64, now: Duration) {
        let Some(session) = self.sessions.get(&number).filter(|session| session.takes_part()) else { return };
        for (id, run) in self.runs.iter_mut().filter(|(_, run)| run.takes_more() && session.can_play(run)) {
            let workers =
                self.sessions.values().filter(|session| session.takes_part() && session.can_play(run)).count();
            if let Some(after) = run.lanes.as_mut().and_then(|lanes| lanes.begin(workers, now)) {
                self.actions.push(Action::BeginLoad { run: id.clone(), after });
            }
        }
    }

    fn is_arrival(&self, run: &RunId, trial: u64) -> bool {
        let lanes = self.runs.get(run).and_then(|run| run.lanes.as_ref());
        lanes.is_some_and(|lanes| lanes.is_open_number(trial))
    }

    /// What a claim gets: a fair share of healthy trials. If the next run has none, a group of its suspects, but only
    /// if the session holds nothing else.
    fn lease(&mut self, number: u64, wanted: Wanted, now: Duration) -> Vec<(RunId, Range<u64>, u32)> {
        let allowance = self.allowance(number, now);
        let most = match allowance {
            Allowance::Everything => MOST_WANTED,
            Allowance::One => 1,
            Allowance::Nothing => return Vec::new(),
        };
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        let (want, ahead) = (u64::from(wanted.trials).min(most), u64::from(wanted.ahead).min(most));
        if allowance == Allowance::One {
            let mut leased = self.lease_healthy(number, want, u64::from(wanted.idle), 0, now);
            if leased.is_empty() {
                leased = self.lease_healthy(number, 0, 0, ahead, now);
            }
            self.on_probation(number, !leased.is_empty());
            return leased;
        }
        if want + ahead == 0 || self.plays_suspects(session) {
            return Vec::new();
        }
        let calm = self.is_calm(now);
        let has_work = |run: &&Run| session.can_play(run) && (run.waiting(now) > 0 || run.has_suspects(now, calm));
        let next = self.in_turn().into_iter().find(|id| self.runs.get(id).filter(has_work).is_some());
        let suspicious = next.filter(|id| self.runs.get(id).is_some_and(|run| run.has_suspects(now, calm)));
        match suspicious {
            Some(id) if session.is_empty() && want > 0 => return self.lease_suspects(number, id, want, now),
            Some(_) if *self.clearing.get_or_insert(number) == number => return Vec::new(),
            Some(_) => {}
            None => self.forget(number),
        }
        self.lease_healthy(number, want, u64::from(wanted.idle), ahead, now)
    }

    fn lease_suspects(&mut self, number: u64, id: RunId, want: u64, now: Duration) -> Vec<(RunId, Range<u64>, u32)> {
        self.forget(number);
        let calm = self.is_calm(now);
        let (Some(run), Some(session)) = (self.runs.get_mut(&id), self.sessions.get_mut(&number)) else {
            return Vec::new();
        };
        let (taken, lost_with) = run.take_suspects(want, session::MOST_LEASES, now, calm);
        let single = taken.iter().map(|(trials, _)| trials.end - trials.start).sum::<u64>() == 1;
        session.suspects = Some(SuspectLease { at: now, lost_with, single });
        self.served = Some(id.clone());
        taken.into_iter().map(|(trials, epoch)| (id.clone(), trials, epoch)).collect()
    }

    fn lease_healthy(
        &mut self,
        number: u64,
        want: u64,
        mut idle: u64,
        mut ahead: u64,
        now: Duration,
    ) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        let mut slots = self.share(session, want, now);
        let mut leased = Vec::new();
        for id in self.in_turn() {
            if slots + ahead == 0 || leased.len() >= session::MOST_LEASES {
                break;
            }
            let Some(run) = self.runs.get(&id).filter(|run| session.can_play(run)) else { continue };
            let room = Room { slots, idle, ahead, place: self.place(number, run) };
            let Some(run) = self.runs.get_mut(&id) else { continue };
            for (trials, epoch) in run.take(room, session::MOST_LEASES - leased.len(), now) {
                let arrivals = run.lanes.as_ref().is_some_and(|lanes| lanes.is_open_number(trials.start));
                let taken = trials.end - trials.start;
                if arrivals {
                    ahead -= taken;
                } else {
                    slots -= taken;
                    idle = idle.saturating_sub(taken);
                }
                leased.push((id.clone(), trials, epoch));
                self.served = Some(id.clone());
            }
        }
        leased
    }

    /// The slots of the session among those of all that can play the run.
    fn place(&self, number: u64, run: &Run) -> Place {
        let mut place = Place { before: 0, slots: 0, of: 0 };
        let counts =
            |(other, session): &(&u64, &Session)| (**other == number || session.takes_part()) && session.can_play(run);
        for (other, session) in self.sessions.iter().filter(counts) {
            let slots = u64::from(session.slots.max(1));
            if *other == number {
                (place.before, place.slots) = (place.of, slots);
            }
            place.of += slots;
        }
        place
    }

    /// Near the end of a run, sessions share what is left, so that the first claim does not take all of it.
    fn share(&self, session: &Session, want: u64, now: Duration) -> u64 {
        let workers = self.sessions.values().filter(|session| session.takes_part()).count() as u64;
        if workers <= 1 {
            return want;
        }
        let waiting: u64 = self.runs.values().filter(|run| session.can_play(run)).map(|run| run.waiting(now)).sum();
        want.min(waiting.div_ceil(2 * workers).max(1))
    }

    /// All runs, beginning with the one after the run that was served last.
    fn in_turn(&self) -> Vec<RunId> {
        let Some(served) = &self.served else { return self.runs.keys().cloned().collect() };
        let after = self.runs.range::<RunId, _>((Bound::Excluded(served), Bound::Unbounded));
        let before = self.runs.range::<RunId, _>((Bound::Unbounded, Bound::Included(served)));
        after.chain(before).map(|(id, _)| id.clone()).collect()
    }
}
