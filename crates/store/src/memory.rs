//! A store that forgets: every guarantee of the kept ones, no disk.
//!
//! It is the model that the others are compared with, and what simulations run on: a paused clock does not
//! wait for the threads of a database.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use record::{Usd, call::Spend, summary::RunState};
use scenario::{Digest, RunId};

use crate::{Commit, Committed, Error, Lease, Part, Piece, Recovered, RunRow, Store, StoredTrial, ranges};

#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    plans: BTreeMap<Digest, Bytes>,
    runs: BTreeMap<RunId, Run>,
    /// The first has the id 1.
    sessions: Vec<Session>,
}

#[derive(Debug)]
struct Run {
    row: RunRow,
    trials: BTreeMap<u64, StoredTrial>,
    /// Whether it was lent to be played alone, by trial and epoch.
    lost: BTreeMap<(u64, u32), bool>,
    spend: Spend,
    unsettled: Usd,
}

#[derive(Debug, Default)]
struct Session {
    over: bool,
    unsettled: Usd,
    /// Those of sequence 1, 2, …: as many as the watermark says.
    segments: Vec<(RunId, Vec<Bytes>)>,
    /// By id and first trial: a release can cut one lease into several.
    leases: BTreeMap<(u64, u64), Lease>,
}

impl Memory {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic elsewhere while the lock was held leaves nothing half done: every method checks first, then writes.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn run(&self, run: &RunId) -> Result<&Run, Error> {
        self.runs.get(run).ok_or_else(|| Error::UnknownRun(run.clone()))
    }

    fn run_mut(&mut self, run: &RunId) -> Result<&mut Run, Error> {
        self.runs.get_mut(run).ok_or_else(|| Error::UnknownRun(run.clone()))
    }

    fn session(&self, session: u64) -> Option<&Session> {
        self.sessions.get(index(session)?).filter(|session| !session.over)
    }

    fn session_mut(&mut self, session: u64) -> Option<&mut Session> {
        self.sessions.get_mut(index(session)?).filter(|session| !session.over)
    }

    fn piece(&self, run: &RunId, session: u64, piece: Piece) -> Option<Bytes> {
        let (of, pieces) = self.sessions.get(index(session)?)?.segments.get(index(piece.sequence)?)?;
        match piece.part {
            _ if of != run => None,
            Part::At { place, .. } => pieces.get(place as usize).cloned(),
            Part::Whole => Some(pieces.concat().into()),
        }
    }

    /// The session's leases that are not done.
    fn live(&self, session: u64) -> BTreeMap<(u64, u64), Lease> {
        let leases = self.session(session).into_iter().flat_map(|session| &session.leases);
        let live = leases.filter(|(_, lease)| !self.unfinished(lease).is_empty());
        live.map(|(key, lease)| (*key, lease.clone())).collect()
    }

    /// The trials of a lease that are not done.
    fn unfinished(&self, lease: &Lease) -> Vec<u64> {
        let done = |number: &u64| self.runs.get(&lease.run).is_some_and(|run| run.trials.contains_key(number));
        lease.trials.clone().filter(|number| !done(number)).collect()
    }
}

impl Run {
    /// A run that is over for good takes no more results.
    fn is_open(&self) -> bool {
        matches!(self.row.state, RunState::Running | RunState::Interrupted)
    }
}

impl Store for Memory {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(there) = state.runs.get(&run.id) {
            let same = there.row.plan_digest == run.plan_digest;
            return if same { Ok(()) } else { Err(Error::Conflict(run.id.clone())) };
        }
        state.plans.entry(run.plan_digest.clone()).or_insert_with(|| Bytes::copy_from_slice(plan));
        let (trials, lost, spend) = (BTreeMap::new(), BTreeMap::new(), Spend::default());
        state.runs.insert(run.id.clone(), Run { row: run.clone(), trials, lost, spend, unsettled: Usd::default() });
        Ok(())
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        Ok(self.state().runs.get(run).map(|run| run.row.clone()))
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        let mut rows: Vec<RunRow> = self.state().runs.values().map(|run| run.row.clone()).collect();
        rows.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        Ok(rows)
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        Ok(self.state().plans.get(digest).cloned())
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        let mut all = self.state();
        let row = &mut all.run_mut(run)?.row;
        row.state = state;
        row.ended_at = ended_at;
        Ok(())
    }

    async fn open_session(&self, _worker: &str, _at: i64) -> Result<u64, Error> {
        let mut state = self.state();
        state.sessions.push(Session::default());
        Ok(state.sessions.len() as u64)
    }

    async fn grant(&self, leases: &[Lease], _at: i64) -> Result<(), Error> {
        let mut state = self.state();
        for lease in leases {
            state.session(lease.session).ok_or(Error::SessionOver(lease.session))?;
            state.run(&lease.run)?;
        }
        let mut granted: BTreeMap<u64, BTreeMap<(u64, u64), Lease>> = BTreeMap::new();
        for lease in leases {
            // What is done by now is forgotten here, else a long session's leases pile up.
            let live = granted.entry(lease.session).or_insert_with(|| state.live(lease.session));
            if live.insert((lease.id, lease.trials.start), lease.clone()).is_some() {
                return Err(Error::Failed(format!("lease {} is lent already", lease.id)));
            }
        }
        for (session, live) in granted {
            if let Some(session) = state.session_mut(session) {
                session.leases = live;
            }
        }
        Ok(())
    }

    async fn commit(&self, commit: &Commit, _at: i64) -> Result<Committed, Error> {
        let mut state = self.state();
        let state = &mut *state;
        let Some(session) = index(commit.session).and_then(|at| state.sessions.get_mut(at)).filter(|one| !one.over)
        else {
            return Ok(Committed { session_over: true, ..Committed::default() });
        };
        let watermark = session.segments.len() as u64;
        if commit.sequence <= watermark {
            return Ok(Committed { duplicate: true, ..Committed::default() });
        }
        if commit.sequence != watermark + 1 {
            return Err(crate::store::gap(commit.session, commit.sequence, watermark));
        }
        let run = state.runs.get_mut(&commit.run).ok_or_else(|| Error::UnknownRun(commit.run.clone()))?;

        let mut committed = Committed::default();
        for ended in &commit.ended {
            let (number, epoch) = (ended.trial.number, ended.trial.epoch);
            let lent =
                |lease: &Lease| lease.run == commit.run && lease.epoch == epoch && lease.trials.contains(&number);
            if !run.is_open() || run.trials.contains_key(&number) || !session.leases.values().any(lent) {
                committed.fenced.push(number);
                continue;
            }
            let stored =
                StoredTrial { trial: ended.trial.clone(), session: commit.session, pieces: ended.pieces.clone() };
            run.trials.insert(number, stored);
            committed.counted.push(number);
        }
        run.spend.add(&commit.segment.spend);
        session.segments.push((commit.run.clone(), commit.segment.pieces.clone()));
        Ok(committed)
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        Ok(self.state().session(session).map(|session| session.segments.len() as u64))
    }

    async fn beat(&self, session: u64, unsettled: Usd) -> Result<(), Error> {
        self.state().session_mut(session).ok_or(Error::SessionOver(session))?.unsettled = unsettled;
        Ok(())
    }

    async fn release(&self, session: u64, trials: &[Lease]) -> Result<(), Error> {
        let mut state = self.state();
        let Some(session) = state.session_mut(session) else { return Ok(()) };
        let live = std::mem::take(&mut session.leases);
        let kept = live.into_values().flat_map(|lease| ranges::without(&lease, trials));
        session.leases = kept.map(|lease| ((lease.id, lease.trials.start), lease)).collect();
        Ok(())
    }

    async fn end_session(&self, session: u64, _reason: &str, solo: bool, _at: i64) -> Result<Vec<Lease>, Error> {
        let mut state = self.state();
        let Some(ended) = state.session_mut(session) else { return Ok(Vec::new()) };
        ended.over = true;
        let leases = std::mem::take(&mut ended.leases);
        let open = ended.unsettled;
        let mut losers = BTreeSet::new();
        let mut lost = Vec::new();
        for lease in leases.into_values() {
            let numbers = state.unfinished(&lease);
            let run = state.run_mut(&lease.run)?;
            for number in &numbers {
                run.lost.entry((*number, lease.epoch)).or_insert(solo);
            }
            if !numbers.is_empty() {
                losers.insert(lease.run.clone());
            }
            lost.extend(ranges::fold(numbers).into_iter().map(|trials| Lease { trials, ..lease.clone() }));
        }
        for run in losers {
            state.run_mut(&run)?.unsettled += open;
        }
        Ok(lost)
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        let state = self.state();
        let (id, run) = (run, state.run(run)?);
        let mut attempts: BTreeMap<u64, u32> = BTreeMap::new();
        let mut solo_losses: BTreeMap<u64, u32> = BTreeMap::new();
        for ((number, epoch), solo) in run.lost.iter().filter(|((number, _), _)| !run.trials.contains_key(number)) {
            let attempt = attempts.entry(*number).or_default();
            *attempt = (*attempt).max(*epoch);
            if *solo {
                *solo_losses.entry(*number).or_default() += 1;
            }
        }
        let leases = state.sessions.iter().flat_map(|session| session.leases.values());
        let live = leases.filter(|lease| lease.run == *id && !state.unfinished(lease).is_empty());
        Ok(Recovered {
            done: ranges::fold(run.trials.keys().copied()),
            attempts: attempts.into_iter().collect(),
            solo_losses: solo_losses.into_iter().collect(),
            leases: live.cloned().collect(),
            lost_attempts: run.lost.len() as u64,
            unsettled: run.unsettled,
        })
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        let state = self.state();
        let trials = state.run(run)?.trials.range(first..);
        Ok(trials.take(limit as usize).map(|(_, trial)| trial.clone()).collect())
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        let state = self.state();
        state.run(run)?;
        Ok(asked.iter().map(|(session, piece)| state.piece(run, *session, *piece).unwrap_or_default()).collect())
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        Ok(self.state().run(run)?.spend.clone())
    }
}

/// Sessions and sequences begin with 1.
fn index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
