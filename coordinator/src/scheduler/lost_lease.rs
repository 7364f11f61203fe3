//! Lost leases: a session that is silent for too long is over, and its trials are leased again.
//!
//! The times are ordered so that no trial is played twice at once: a worker stops 20 s after its last answered heartbeat,
//! the coordinator ends the session 30 s after the last heartbeat that it read. A worker whose stream is closed starts no
//! call after 1 s; the coordinator ends its session after 3 s.

use std::time::Duration;

use scenario::RunId;
use store::Lease;

use super::{
    Action, Scheduler,
    poison::Circumstances,
    session::Session,
    unrest::{Loss, Unrest},
};

impl Scheduler {
    /// Finds expired sessions and takes back their leases.
    pub(super) fn tick(&mut self, now: Duration) {
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
        // The time of a lane may have ended it.
        let loads: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.lanes.is_some()).map(|(id, _)| id.clone()).collect();
        for run in loads {
            self.take_back_excess(&run, now);
            self.finish_if_over(&run);
        }
    }

    /// A coordinator that did not tick did not read heartbeats either, so that time does not count against sessions.
    pub(super) fn notice_sleep(&mut self, now: Duration) {
        let slept = self.last_tick.map_or(Duration::ZERO, |last| now.saturating_sub(last));
        if slept > self.timing.tick * 4 {
            self.sessions.values_mut().for_each(|session| session.postpone(slept));
            self.unrest.get_or_insert_with(|| Unrest::since(now)).overslept(now);
            self.last_tick = Some(now);
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

    /// Whether a trial of a lost session can have crashed its worker: only if the worker played nothing else, and no
    /// other worker was lost at that time.
    fn circumstances(&self, session: &Session, begun: &[Lease], loss: Loss) -> Circumstances {
        let group = session.suspects.as_ref().filter(|_| self.plays_suspects(session));
        let (Some(group), Some(unrest)) = (group, &self.unrest) else {
            return Circumstances { lost_with: vec![loss], ..Circumstances::default() };
        };
        let mut lost_with = group.lost_with.clone();
        lost_with.push(loss);
        let one_had_begun = begun.iter().map(Lease::begun_trials).sum::<u64>() == 1;
        let proof = group.single && one_had_begun && unrest.is_calm_but_for(group.at, &[loss]);
        Circumstances { alone: group.single, halves: unrest.only(group.at, &lost_with), lost_with, proof }
    }
}
