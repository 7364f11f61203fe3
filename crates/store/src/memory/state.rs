//! The state of an in-memory store: plans, runs with their trials, and sessions with their leases.

use std::collections::BTreeMap;

use bytes::Bytes;
use record::{
    Trial, Usd,
    call::Spend,
    decision::Decision,
    runner::Runner,
    summary::RunState,
    trial::{Past, Replay},
};
use scenario::{Digest, RunId};

use super::duty::Duty;
use crate::{AttemptEnd, Error, JoinToken, Lease, Ledger, Part, Piece, RunRow, Slice, StoredAttempt, StoredTrial};

#[derive(Debug, Default)]
pub(super) struct State {
    /// `None`: nobody has ever held it.
    pub(super) duty: Option<Duty>,
    pub(super) plans: BTreeMap<Digest, Bytes>,
    pub(super) runs: BTreeMap<RunId, Run>,
    /// The first has the id 1.
    pub(super) sessions: Vec<Session>,
    /// Requests given out, by limit and day.
    pub(super) days: BTreeMap<(String, i64), u64>,
    /// With whether they are used.
    pub(super) join_tokens: BTreeMap<Digest, (JoinToken, bool)>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) row: RunRow,
    pub(super) trials: BTreeMap<u64, Kept>,
    /// By trial and epoch.
    pub(super) lost: BTreeMap<(u64, u32), Lost>,
    /// Ends that a later attempt replaced, with their sessions.
    pub(super) replaced: BTreeMap<(u64, u32), (u64, Trial)>,
    pub(super) spend: Spend,
    pub(super) unsettled: Usd,
    pub(super) load_began_at: Option<i64>,
    pub(super) runner: Runner,
    pub(super) decisions: Vec<Decision>,
    /// By session.
    pub(super) slices: BTreeMap<u64, Slice>,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) stored: StoredTrial,
    /// How often it may still be replayed until the run is resumed.
    pub(super) left: u32,
    /// How many ends it has replaced.
    pub(super) replaced: u64,
}

#[derive(Debug)]
pub(super) struct Lost {
    pub(super) session: u64,
    pub(super) begun: bool,
    /// Only the trial can have crashed the worker.
    pub(super) proof: bool,
    /// Its worker gave it up, and did not crash.
    pub(super) given_up: bool,
    /// In Unix milliseconds.
    pub(super) at: i64,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) token: Digest,
    pub(super) seen: i64,
    pub(super) over: bool,
    pub(super) unsettled: Usd,
    /// The segments of sequence 1, 2, …, up to the watermark.
    pub(super) segments: Vec<(RunId, Vec<Bytes>)>,
    /// By id and first trial: a release can cut one lease into several.
    pub(super) leases: BTreeMap<(u64, u64), Lease>,
}

impl State {
    pub(super) fn run(&self, run: &RunId) -> Result<&Run, Error> {
        self.runs.get(run).ok_or_else(|| Error::UnknownRun(run.clone()))
    }

    pub(super) fn run_mut(&mut self, run: &RunId) -> Result<&mut Run, Error> {
        self.runs.get_mut(run).ok_or_else(|| Error::UnknownRun(run.clone()))
    }

    /// The money of a run.
    pub(super) fn ledger(&self, run: &RunId) -> Result<Ledger, Error> {
        let of = self.run(run)?;
        let slice = |slice: &Slice| Slice { open: self.session(slice.session).is_some(), ..*slice };
        let slices = of.slices.values().map(slice).collect();
        Ok(Ledger::of(of.row.max_cost, of.unsettled, of.spend.cost(), slices))
    }

    pub(super) fn session(&self, session: u64) -> Option<&Session> {
        self.sessions.get(index(session)?).filter(|session| !session.over)
    }

    pub(super) fn session_mut(&mut self, session: u64) -> Option<&mut Session> {
        self.sessions.get_mut(index(session)?).filter(|session| !session.over)
    }

    pub(super) fn piece(&self, run: &RunId, session: u64, piece: Piece) -> Option<Bytes> {
        let (of, pieces) = self.sessions.get(index(session)?)?.segments.get(index(piece.sequence)?)?;
        match piece.part {
            _ if of != run => None,
            Part::At { place, .. } => pieces.get(place as usize).cloned(),
            Part::Whole => Some(pieces.concat().into()),
        }
    }

    /// The session's leases that are not done.
    pub(super) fn live(&self, session: u64) -> BTreeMap<(u64, u64), Lease> {
        let leases = self.session(session).into_iter().flat_map(|session| &session.leases);
        let live = leases.filter(|(_, lease)| !self.unfinished(lease).is_empty());
        live.map(|(key, lease)| (*key, lease.clone())).collect()
    }

    /// The trials of a lease that are not done.
    pub(super) fn unfinished(&self, lease: &Lease) -> Vec<u64> {
        let run = self.runs.get(&lease.run);
        // For a replayed trial, an earlier lease has nothing left to do.
        let over = |kept: &Kept| !kept.stored.again || kept.stored.trial.epoch >= lease.epoch;
        let done = |number: &u64| run.and_then(|run| run.trials.get(number)).is_some_and(over);
        lease.trials.clone().filter(|number| !done(number)).collect()
    }
}

impl Session {
    /// Empties a piece of a trial whose turns are not kept.
    pub(super) fn forget(&mut self, piece: &Piece) {
        let Part::At { place, .. } = piece.part else { return };
        let segment = index(piece.sequence).and_then(|at| self.segments.get_mut(at));
        let piece = segment.and_then(|(_, pieces)| pieces.get_mut(usize::try_from(place).ok()?));
        if let Some(piece) = piece {
            piece.clear();
        }
    }

    /// Trials that have begun stay begun.
    pub(super) fn begin(&mut self, begun: &[Lease]) {
        for lease in self.leases.values_mut() {
            let of = |one: &&Lease| one.run == lease.run && one.epoch == lease.epoch;
            let ends =
                begun.iter().filter(of).filter(|one| one.trials.start < lease.trials.end).map(|one| one.trials.end);
            if let Some(end) = ends.filter(|end| *end > lease.trials.start).max() {
                lease.begun = lease.begun.max(end.min(lease.trials.end));
            }
        }
    }
}

impl Run {
    /// A run that has finally ended accepts no more results.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.row.state, RunState::Running | RunState::Interrupted)
    }

    pub(super) fn is_done(&self, number: u64) -> bool {
        self.trials.get(&number).is_some_and(|kept| !kept.stored.again)
    }

    /// Stores how a trial ended, unless a later attempt is known. Returns whether it was stored.
    pub(super) fn keep(&mut self, mut stored: StoredTrial, replays: u32) -> bool {
        let number = stored.trial.number;
        let before = self.trials.get(&number);
        if before.is_some_and(|kept| !kept.stored.again || kept.stored.trial.epoch >= stored.trial.epoch) {
            return false;
        }
        let mut left = before.map_or(replays, |kept| kept.left);
        let replaced = before.map_or(0, |kept| kept.replaced + 1);
        stored.trial.past = before.map_or(Past::default(), |kept| kept.stored.trial.past_of_the_next());
        stored.again = match stored.trial.replay() {
            Replay::Never => false,
            Replay::OnResume => true,
            Replay::Limited => {
                let again = left > 0;
                left = left.saturating_sub(1);
                again
            }
        };
        self.row.exhausted |= stored.trial.is_exhausted();
        if let Some(before) = self.trials.insert(number, Kept { stored, left, replaced }) {
            let StoredTrial { trial, session, .. } = before.stored;
            self.replaced.insert((number, trial.epoch), (session, Trial { past: Past::default(), ..trial }));
        }
        true
    }

    /// The attempts that do not count, by trial and epoch.
    pub(super) fn attempts(&self) -> BTreeMap<(u64, u32), StoredAttempt> {
        let lost = self.lost.iter().map(|(key, lost)| {
            let Lost { session, begun, given_up, at, proof: _ } = *lost;
            (*key, session, AttemptEnd::Lost { begun, given_up, at })
        });
        let replaced = self.replaced.iter();
        let replaced =
            replaced.map(|(key, (session, trial))| (*key, *session, AttemptEnd::Replaced(Box::new(trial.clone()))));
        let attempt =
            |((number, epoch), session, end)| ((number, epoch), StoredAttempt { number, epoch, session, end });
        lost.chain(replaced).map(attempt).collect()
    }
}

/// Sessions and sequences begin with 1.
pub(super) fn index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
