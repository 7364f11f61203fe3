//! An in-memory store with every guarantee of the others except durability.
//!
//! The others are compared with it, and simulations run on it: a paused clock does not wait for a database's threads.

mod duty;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState, trial::Past};
use scenario::{Digest, RunId};

use self::{
    duty::Duty,
    state::{Lost, Run, Session, State, index},
};
use crate::{
    Account, Commit, Committed, Drawn, Error, Holder, JoinToken, Lease, Moved, Piece, Recovered, Redeemed, RunRow,
    Slice, Store, StoredAttempt, StoredTrial, days, join_tokens, losses, ranges,
};

/// A clone is the same store.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    /// Of the coordinator that took it; `None` if it is not one of several.
    epoch: Option<i64>,
}

impl Memory {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic elsewhere while the lock was held leaves a consistent state: every method checks first, then writes.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a write. [`Error::TakenOver`] if another coordinator holds the store now.
    fn writing(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state();
        let is_fenced = state.duty.as_ref().is_some_and(|duty| !duty.is_of(self.epoch));
        if is_fenced { Err(Error::TakenOver) } else { Ok(state) }
    }
}

/// The duty of the coordinator in charge. The caller reads the store's clock (`now`).
impl Memory {
    /// Who holds the store; `None` if nobody ever did.
    #[must_use]
    pub fn holder(&self, now: Duration) -> Option<Holder> {
        self.state().duty.as_ref().map(|duty| duty.seen(now))
    }

    /// The same store for a coordinator that takes it over. Others cannot write from now on. [`Error::InUse`] if another one
    /// holds it.
    pub fn taken(&self, holder: &str, now: Duration) -> Result<Self, Error> {
        let mut state = self.state();
        let duty = Duty::taken(state.duty.as_ref(), holder, now)?;
        let epoch = Some(duty.epoch());
        state.duty = Some(duty);
        Ok(Self { state: Arc::clone(&self.state), epoch })
    }

    /// Says where others reach the holder.
    pub fn advertise(&self, address: &str) {
        self.in_charge(|duty| duty.advertise(address));
    }

    /// Extends the hold. `false`: another coordinator has it, or it was given up.
    #[must_use]
    pub fn renew(&self, now: Duration) -> bool {
        self.in_charge(|duty| duty.renew(now))
    }

    /// Gives it up.
    pub fn give_up(&self) {
        self.in_charge(Duty::give_up);
    }

    /// Changes the duty if this is its holder, and returns whether it is.
    fn in_charge(&self, change: impl FnOnce(&mut Duty)) -> bool {
        let mut state = self.state();
        state.duty.as_mut().filter(|duty| duty.is_of(self.epoch)).map(change).is_some()
    }
}

impl Store for Memory {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        let mut state = self.writing()?;
        if let Some(there) = state.runs.get(&run.id) {
            let same = there.row.plan_digest == run.plan_digest;
            return if same { Ok(()) } else { Err(Error::Conflict(run.id.clone())) };
        }
        state.plans.entry(run.plan_digest.clone()).or_insert_with(|| Bytes::copy_from_slice(plan));
        let (trials, lost, spend) = (BTreeMap::new(), BTreeMap::new(), run.preflight.clone());
        let replaced = BTreeMap::new();
        let (unsettled, load_began_at, runner, decisions) = (Usd::default(), None, Runner::default(), Vec::new());
        let run = Run {
            row: run.clone(),
            trials,
            lost,
            replaced,
            spend,
            unsettled,
            load_began_at,
            runner,
            decisions,
            slices: BTreeMap::new(),
        };
        state.runs.insert(run.row.id.clone(), run);
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
        let mut all = self.writing()?;
        let row = &mut all.run_mut(run)?.row;
        row.state = state;
        row.ended_at = ended_at;
        Ok(())
    }

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        self.writing()?.run_mut(run)?.load_began_at = Some(at);
        Ok(())
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        let mut all = self.writing()?;
        let run = all.run_mut(run)?;
        run.decisions.push(decision.clone());
        run.load_began_at = moved.load_began_at.or(run.load_began_at);
        run.row.planned = moved.planned.unwrap_or(run.row.planned);
        run.row.max_cost = moved.max_cost.or(run.row.max_cost);
        Ok(())
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        self.writing()?.run_mut(run)?.runner = runner.clone();
        Ok(())
    }

    async fn open_session(&self, _worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        let mut state = self.writing()?;
        state.sessions.push(Session {
            token: token.clone(),
            seen: at,
            over: false,
            unsettled: Usd::default(),
            segments: Vec::new(),
            leases: BTreeMap::new(),
        });
        Ok(state.sessions.len() as u64)
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        Ok(self.state().session(session).map(|session| session.token.clone()))
    }

    async fn grant(&self, leases: &[Lease], _at: i64) -> Result<(), Error> {
        let mut state = self.writing()?;
        for lease in leases {
            state.session(lease.session).ok_or(Error::SessionOver(lease.session))?;
            state.run(&lease.run)?;
        }
        let mut granted: BTreeMap<u64, BTreeMap<(u64, u64), Lease>> = BTreeMap::new();
        for lease in leases {
            // Drop what is done by now; otherwise the leases of a long session pile up.
            let live = granted.entry(lease.session).or_insert_with(|| state.live(lease.session));
            if live.insert((lease.id, lease.trials.start), lease.clone()).is_some() {
                return Err(Error::Failed(format!("lease {} is granted already", lease.id)));
            }
        }
        for (session, live) in granted {
            if let Some(session) = state.session_mut(session) {
                session.leases = live;
            }
        }
        Ok(())
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        let mut state = self.writing()?;
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
            let is_leased =
                |lease: &Lease| lease.run == commit.run && lease.epoch == epoch && lease.trials.contains(&number);
            if !run.is_open() || !session.leases.values().any(is_leased) {
                committed.fenced.push(number);
                continue;
            }
            let stored = StoredTrial {
                trial: ended.trial.clone(),
                session: commit.session,
                pieces: if ended.kept { ended.pieces.clone() } else { Vec::new() },
                again: false,
                unreadable: false,
            };
            if !run.keep(stored, commit.replays) {
                committed.fenced.push(number);
            } else if run.is_done(number) {
                committed.counted.push(number);
                let past = run.trials.get(&number).map_or(Past::default(), |kept| kept.stored.trial.past);
                if past != Past::default() {
                    committed.pasts.insert(number, past);
                }
            } else {
                committed.again.push(number);
            }
        }
        run.spend.add(&commit.segment.spend);
        if let Some((slice, account)) = run.slices.get_mut(&commit.session).zip(commit.account) {
            slice.settled += commit.segment.spend.cost();
            slice.hear(account);
        }
        session.seen = at;
        session.begin(&commit.begun);
        session.segments.push((commit.run.clone(), commit.segment.pieces.clone()));
        for piece in commit.ended.iter().filter(|ended| !ended.kept).flat_map(|ended| &ended.pieces) {
            session.forget(piece);
        }
        Ok(committed)
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        Ok(self.state().session(session).map(|session| session.segments.len() as u64))
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        let mut state = self.writing()?;
        let session = state.session_mut(session).ok_or(Error::SessionOver(session))?;
        (session.unsettled, session.seen) = (unsettled, at);
        session.begin(begun);
        Ok(())
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        let mut state = self.writing()?;
        state.session(session).ok_or(Error::SessionOver(session))?;
        let slice = state.ledger(run)?.raised(session, account, granted);
        state.run_mut(run)?.slices.insert(session, slice);
        Ok(slice)
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        let mut state = self.writing()?;
        let given = state.days.entry((limit.to_owned(), day)).or_default();
        let (now, drawn) = days::draw(*given, most, ask);
        *given = now;
        Ok(drawn)
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        let mut state = self.writing()?;
        let Some(of) = state.session_mut(session) else { return Ok(()) };
        let live = std::mem::take(&mut of.leases);
        let mut given_up = Vec::new();
        for lease in live.into_values() {
            let left = ranges::without(&lease, trials);
            let kept = |number: &u64| left.iter().any(|lease| lease.trials.contains(number));
            given_up.extend(
                state
                    .unfinished(&lease)
                    .into_iter()
                    .filter(|number| !kept(number))
                    .map(|number| (lease.run.clone(), number, lease.epoch)),
            );
            if let Some(of) = state.session_mut(session) {
                of.leases.extend(left.into_iter().map(|lease| ((lease.id, lease.trials.start), lease)));
            }
        }
        for (run, number, epoch) in given_up.into_iter().filter(|_| begun) {
            let lost = Lost { session, begun: true, proof: false, given_up: true, at };
            state.run_mut(&run)?.lost.entry((number, epoch)).or_insert(lost);
        }
        Ok(())
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        let mut state = self.writing()?;
        let run = state.run_mut(run)?;
        (run.row.state, run.row.ended_at, run.row.exhausted) = (RunState::Running, None, false);
        for number in again {
            if let Some(kept) = run.trials.get_mut(number) {
                kept.stored.again = true;
            }
        }
        run.trials.values_mut().filter(|kept| kept.stored.again).for_each(|kept| kept.left = replays);
        Ok(())
    }

    async fn end_session(
        &self,
        session: u64,
        _reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        let mut state = self.writing()?;
        let Some(ended) = state.session_mut(session) else { return Ok(Vec::new()) };
        ended.over = true;
        ended.begin(begun);
        let leases = std::mem::take(&mut ended.leases);
        let open = ended.unsettled;
        let mut losers = BTreeSet::new();
        let mut lost = Vec::new();
        for lease in leases.into_values() {
            let numbers = state.unfinished(&lease);
            let run = state.run_mut(&lease.run)?;
            for number in &numbers {
                let begun = *number < lease.begun;
                run.lost.entry((*number, lease.epoch)).or_insert(Lost { session, begun, proof, given_up: false, at });
            }
            if !numbers.is_empty() {
                losers.insert(lease.run.clone());
            }
            lost.extend(ranges::fold(numbers).into_iter().map(|trials| lease.part(trials)));
        }
        for run in losers {
            let run = state.run_mut(&run)?;
            if !run.slices.contains_key(&session) {
                run.unsettled += open;
            }
        }
        Ok(lost)
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        let state = self.state();
        let ledger = state.ledger(run)?;
        let (id, run) = (run, state.run(run)?);
        let again = run.trials.iter().filter(|(_, kept)| kept.stored.again);
        let mut attempts: BTreeMap<u64, u32> = again.map(|(number, kept)| (*number, kept.stored.trial.epoch)).collect();
        let mut since_its_end = Vec::new();
        for ((number, epoch), lost) in run.lost.iter().filter(|((number, _), _)| !run.is_done(*number)) {
            let attempt = attempts.entry(*number).or_default();
            *attempt = (*attempt).max(*epoch);
            if run.trials.get(number).is_none_or(|kept| kept.stored.trial.epoch < *epoch) {
                let Lost { session, begun, proof, given_up, at: _ } = *lost;
                since_its_end.push(losses::Lost { number: *number, session, begun, proof, given_up });
            }
        }
        let leases = state.sessions.iter().flat_map(|session| session.leases.values());
        let live = leases.filter(|lease| lease.run == *id && !state.unfinished(lease).is_empty());
        let leases: Vec<Lease> = live.cloned().collect();
        let sessions: BTreeSet<u64> = leases.iter().map(|lease| lease.session).collect();
        let seen = sessions.into_iter().filter_map(|one| Some((one, state.session(one)?.seen)));
        Ok(Recovered {
            done: ranges::fold(run.trials.keys().copied().filter(|number| run.is_done(*number))),
            attempts: attempts.into_iter().collect(),
            losses: losses::fold(since_its_end),
            seen: seen.collect(),
            leases,
            lost_attempts: run.lost.values().filter(|lost| lost.begun).count() as u64,
            replayed_attempts: run.trials.values().map(|kept| kept.replaced).sum(),
            replayed_failed: run.trials.values().map(|kept| u64::from(kept.stored.trial.past.failed)).sum(),
            replayed_trials: run.trials.values().filter(|kept| kept.replaced > 0).count() as u64,
            unsettled: run.unsettled + ledger.unsettled(),
            ledger,
            load_began_at: run.load_began_at,
            runner: run.runner.clone(),
            decisions: run.decisions.clone(),
        })
    }

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        let state = self.state();
        let mut moments = BTreeMap::new();
        for lost in state.run(run)?.lost.values().filter(|lost| lost.begun && !lost.given_up) {
            *moments.entry(lost.at).or_insert(0) += 1;
        }
        Ok(moments.into_iter().take(limit as usize).collect())
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        let state = self.state();
        let trials = state.run(run)?.trials.range(first..);
        Ok(trials.take(limit as usize).map(|(_, kept)| kept.stored.clone()).collect())
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        let state = self.state();
        let attempts = state.run(run)?.attempts();
        let behind = attempts.into_iter().filter(|(key, _)| after.is_none_or(|after| *key > after));
        Ok(behind.take(limit as usize).map(|(_, attempt)| attempt).collect())
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        let mut state = self.writing()?;
        let leases = state.sessions.iter().filter(|session| !session.over).flat_map(|session| session.leases.values());
        let held = leases.filter(|lease| lease.run == *run).any(|lease| !state.unfinished(lease).is_empty());
        if held || state.run(run)?.row.state == RunState::Running {
            return Err(Error::Running(run.clone()));
        }
        state.runs.remove(run);
        let State { plans, runs, .. } = &mut *state;
        plans.retain(|digest, _| runs.values().any(|run| run.row.plan_digest == *digest));
        for session in &mut state.sessions {
            session.leases.retain(|_, lease| lease.run != *run);
            for (_, pieces) in session.segments.iter_mut().filter(|(of, _)| of == run) {
                pieces.clear();
            }
        }
        Ok(())
    }

    async fn sweep(&self, _limit: u32) -> Result<bool, Error> {
        self.writing().map(|_| false)
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        let state = self.state();
        state.run(run)?;
        Ok(asked.iter().map(|(session, piece)| state.piece(run, *session, *piece).unwrap_or_default()).collect())
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        let mut state = self.writing()?;
        state.join_tokens.retain(|_, (token, _)| token.expires_at >= at - join_tokens::KEPT_MILLIS);
        state.join_tokens.entry(token.digest.clone()).or_insert((token.clone(), false));
        Ok(())
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        let mut state = self.writing()?;
        let mut stored = state.join_tokens.get_mut(token);
        let columns = stored.as_deref().map(|(token, used)| (token.role.clone(), token.expires_at, *used));
        let redeemed = join_tokens::redeem(columns, at);
        if let (Redeemed::As(_), Some((_, used))) = (&redeemed, &mut stored) {
            *used = true;
        }
        Ok(redeemed)
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        Ok(self.state().run(run)?.spend.clone())
    }
}
