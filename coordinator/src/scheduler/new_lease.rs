//! Claims: which trials a session gets, from which run.

use std::{
    ops::{Bound, Range},
    time::Duration,
};

use scenario::RunId;
use store::Lease;

use super::{
    Action, Scheduler,
    run::Run,
    session::{self, Session, SuspectLease},
};

/// A worker that asks for more at a time gets this many.
const MOST_WANTED: u64 = 4096;

impl Scheduler {
    /// Answers a claim. `wanted`: how many trials, and how many of them begin at once.
    pub(super) fn claim(&mut self, number: u64, claim: u64, wanted: (u32, u32), now: Duration) {
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
            .lease(number, want, now)
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

    /// What a claim gets: a fair share of healthy trials. If the next run has none, a group of its suspects, for a session
    /// that holds nothing else.
    fn lease(&mut self, number: u64, want: u64, now: Duration) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        if want == 0 || self.plays_suspects(session) {
            return Vec::new();
        }
        let calm = self.is_calm(now);
        let has_work = |run: &&Run| session.can_play(run) && (run.waiting() > 0 || run.has_suspects(now, calm));
        let next = self.in_turn().into_iter().find(|id| self.runs.get(id).filter(has_work).is_some());
        let suspicious = next.filter(|id| self.runs.get(id).is_some_and(|run| run.has_suspects(now, calm)));
        match suspicious {
            Some(id) if session.is_empty() => return self.lease_suspects(number, id, want, now),
            Some(_) if *self.clearing.get_or_insert(number) == number => return Vec::new(),
            Some(_) => {}
            None => self.forget(number),
        }
        self.lease_healthy(number, want)
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

    fn lease_healthy(&mut self, number: u64, want: u64) -> Vec<(RunId, Range<u64>, u32)> {
        let Some(session) = self.sessions.get(&number) else { return Vec::new() };
        let mut left = self.share(session, want);
        let mut leased = Vec::new();
        for id in self.in_turn() {
            if left == 0 || leased.len() >= session::MOST_LEASES {
                break;
            }
            let Some(run) = self.runs.get_mut(&id).filter(|run| session.can_play(run)) else { continue };
            for (trials, epoch) in run.take(left, session::MOST_LEASES - leased.len()) {
                left -= trials.end - trials.start;
                leased.push((id.clone(), trials, epoch));
                self.served = Some(id.clone());
            }
        }
        leased
    }

    /// Near the end of a run, sessions share what is left, so that the first claim does not take all of it.
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
}
