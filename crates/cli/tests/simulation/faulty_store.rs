//! The store in memory, slower and less reliable on demand, as each coordinator reaches it.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use record::{Usd, call::Spend, decision::Decision, runner::Runner, summary::RunState};
use scenario::{Digest, RunId};
use store::{
    Account, Commit, Committed, Contender, Drawn, Error, Held, Holder, JoinToken, Lease, Memory, Moved, Piece,
    Recovered, Redeemed, RunRow, Slice, Store, StoredAttempt, StoredTrial,
    duty::{Renew, Term},
};
use tokio_util::bytes::Bytes;

use crate::{chance::Chance, cuts::Cuts, events::Events, process::now};

/// One call in so many fails while the store is unreliable.
const FAILS: u64 = 10;
const LONGEST_STALL: u64 = 2_000;

#[derive(Debug)]
pub(crate) struct FaultyStore {
    store: Memory,
    way: Way,
    /// Of the coordinator in charge, of several.
    term: Option<Term>,
}

/// A coordinator's way to it.
#[derive(Debug, Clone)]
struct Way {
    coordinator: usize,
    events: Arc<Events>,
    faults: Arc<Mutex<Faults>>,
    /// Of each worker.
    cuts: Vec<Arc<Cuts>>,
}

#[derive(Debug)]
struct Faults {
    chance: Chance,
    stalls_until: Duration,
    fails_until: Duration,
    /// For each coordinator.
    away_until: Vec<Duration>,
    /// For how long the worker that gets the next grant cannot connect.
    loses_grant: Option<Duration>,
    /// For how long the next commit with results is on its way.
    delays_commit: Option<Duration>,
    /// The worker of each session.
    workers: BTreeMap<u64, usize>,
}

/// When a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fails {
    Never,
    Before,
    /// It has written, and its caller does not know.
    After,
}

impl FaultyStore {
    /// `cuts`: of each worker.
    pub(crate) fn new(seed: u64, coordinators: usize, events: Arc<Events>, cuts: Vec<Arc<Cuts>>) -> Self {
        let faults = Faults {
            chance: Chance::new(!seed),
            stalls_until: Duration::ZERO,
            fails_until: Duration::ZERO,
            away_until: vec![Duration::ZERO; coordinators],
            loses_grant: None,
            delays_commit: None,
            workers: BTreeMap::new(),
        };
        let way = Way { coordinator: 0, events, faults: Arc::new(Mutex::new(faults)), cuts };
        Self { store: Memory::new(), way, term: None }
    }

    /// As this coordinator reaches it.
    pub(crate) fn reached_by(&self, coordinator: usize) -> Self {
        Self { store: self.store.clone(), way: Way { coordinator, ..self.way.clone() }, term: None }
    }

    pub(crate) fn stall_until(&self, end: Duration) {
        let mut faults = self.way.faults.lock().unwrap();
        faults.stalls_until = faults.stalls_until.max(end);
    }

    pub(crate) fn fail_until(&self, end: Duration) {
        let mut faults = self.way.faults.lock().unwrap();
        faults.fails_until = faults.fails_until.max(end);
    }

    /// Until then the coordinator's calls wait; after that they arrive.
    pub(crate) fn be_away_until(&self, coordinator: usize, end: Duration) {
        let mut faults = self.way.faults.lock().unwrap();
        faults.away_until[coordinator] = faults.away_until[coordinator].max(end);
    }

    /// Breaks the connections of the next worker that gets a grant, once it is stored. New ones are refused for so long.
    pub(crate) fn lose_next_grant(&self, lasts: Duration) {
        self.way.faults.lock().unwrap().loses_grant = Some(lasts);
    }

    /// From the next commit with results on, its coordinator's calls wait for so long; then they arrive.
    pub(crate) fn delay_next_commit(&self, lasts: Duration) {
        self.way.faults.lock().unwrap().delays_commit = Some(lasts);
    }

    async fn meet(&self, what: (&'static str, impl Debug)) -> Result<Fails, Error> {
        self.way.events.add(&(self.way.coordinator, what));
        self.way.disturb().await
    }

    /// A write that arrives although its caller waits no longer, as a statement that is on its way to a database.
    async fn arrives<T: Send + 'static>(
        &self,
        what: (&'static str, impl Debug),
        write: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.way.events.add(&(self.way.coordinator, what));
        let way = self.way.clone();
        let written = tokio::spawn(async move {
            let fails = way.disturb().await?;
            answer(fails, write.await)
        });
        // It is lost only with its process.
        written.await.unwrap_or_else(|_| Err(unavailable()))
    }
}

impl Way {
    /// The name of its host ends with the place of the worker.
    fn joined(&self, session: u64, worker: &str) {
        let place = worker.rsplit('-').next().and_then(|place| place.parse().ok());
        self.faults.lock().unwrap().workers.extend(place.map(|place| (session, place)));
    }

    fn granted(&self, leases: &[Lease]) {
        let mut faults = self.faults.lock().unwrap();
        let worker = leases.first().and_then(|lease| faults.workers.get(&lease.session).copied());
        if let Some((worker, lasts)) = worker.zip(faults.loses_grant.take_if(|_| worker.is_some())) {
            self.cuts[worker].cut_until(now() + lasts);
        }
    }

    fn commits(&self, commit: &Commit) {
        let mut faults = self.faults.lock().unwrap();
        if let Some(lasts) = faults.delays_commit.take_if(|_| !commit.ended.is_empty()) {
            let away = &mut faults.away_until[self.coordinator];
            *away = (*away).max(now() + lasts);
        }
    }

    async fn disturb(&self) -> Result<Fails, Error> {
        let (stall, fails) = {
            let mut faults = self.faults.lock().unwrap();
            let now = now();
            let away = faults.away_until[self.coordinator].checked_sub(now);
            let stall = (now < faults.stalls_until).then(|| faults.chance.time(0, LONGEST_STALL)).max(away);
            let fails = match now < faults.fails_until && faults.chance.one_in(FAILS) {
                false => Fails::Never,
                true if faults.chance.one_in(2) => Fails::Before,
                true => Fails::After,
            };
            (stall, fails)
        };
        if let Some(stall) = stall {
            tokio::time::sleep(stall).await;
        }
        if fails == Fails::Before { Err(unavailable()) } else { Ok(fails) }
    }
}

fn unavailable() -> Error {
    Error::Unavailable("the connection was reset".to_owned())
}

fn answer<T>(fails: Fails, done: Result<T, Error>) -> Result<T, Error> {
    if fails == Fails::After { Err(unavailable()) } else { done }
}

/// What tells leases apart.
fn said(leases: &[Lease]) -> Vec<(u64, u64, u64, u32)> {
    leases.iter().map(|lease| (lease.session, lease.trials.start, lease.trials.end, lease.epoch)).collect()
}

impl Contender for FaultyStore {
    type Store = Self;

    async fn look(&self) -> Result<Option<Holder>, Error> {
        let fails = self.way.disturb().await?;
        answer(fails, Ok(self.store.holder(now())))
    }

    async fn take(&self, name: &str, address: &str) -> Result<Self, Error> {
        let fails = self.meet(("take", name)).await?;
        let store = answer(fails, self.store.taken(name, now()))?;
        let renewal = Renewal { store: store.clone(), way: self.way.clone() };
        let taken = Self { store, way: self.way.clone(), term: Some(Term::begin(renewal)) };
        let fails = taken.meet(("advertise", address)).await?;
        taken.store.advertise(address);
        answer(fails, Ok(taken))
    }
}

struct Renewal {
    store: Memory,
    way: Way,
}

impl Renew for Renewal {
    async fn renew(&mut self) -> Result<bool, Error> {
        let fails = self.way.disturb().await?;
        answer(fails, Ok(self.store.renew(now())))
    }
}

impl Held for FaultyStore {
    fn silent_for(&self) -> Option<Duration> {
        self.term.as_ref().map(Term::silent_for)
    }

    async fn hand_over(&self) -> Result<(), Error> {
        self.term.iter().for_each(Term::end);
        let fails = self.meet(("hand_over", ())).await?;
        self.store.give_up();
        answer(fails, Ok(()))
    }
}

impl Store for FaultyStore {
    async fn create_run(&self, run: &RunRow, plan: &[u8]) -> Result<(), Error> {
        let fails = self.meet(("create_run", &run.id)).await?;
        answer(fails, self.store.create_run(run, plan).await)
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        let fails = self.meet(("run", run)).await?;
        answer(fails, self.store.run(run).await)
    }

    async fn runs(&self) -> Result<Vec<RunRow>, Error> {
        let fails = self.meet(("runs", ())).await?;
        answer(fails, self.store.runs().await)
    }

    async fn plan(&self, digest: &Digest) -> Result<Option<Bytes>, Error> {
        let fails = self.meet(("plan", digest)).await?;
        answer(fails, self.store.plan(digest).await)
    }

    async fn set_state(&self, run: &RunId, state: RunState, ended_at: Option<i64>) -> Result<(), Error> {
        let what = ("set_state", (run, format!("{state:?}")));
        let (store, run) = (self.store.clone(), run.clone());
        self.arrives(what, async move { store.set_state(&run, state, ended_at).await }).await
    }

    async fn set_load_began(&self, run: &RunId, at: i64) -> Result<(), Error> {
        let fails = self.meet(("set_load_began", run)).await?;
        answer(fails, self.store.set_load_began(run, at).await)
    }

    async fn decide(&self, run: &RunId, decision: &Decision, moved: Moved) -> Result<(), Error> {
        let fails = self.meet(("decide", run)).await?;
        answer(fails, self.store.decide(run, decision, moved).await)
    }

    async fn set_runner(&self, run: &RunId, runner: &Runner) -> Result<(), Error> {
        let fails = self.meet(("set_runner", run)).await?;
        answer(fails, self.store.set_runner(run, runner).await)
    }

    async fn open_session(&self, worker: &str, token: &Digest, at: i64) -> Result<u64, Error> {
        let fails = self.meet(("open_session", worker)).await?;
        let session = self.store.open_session(worker, token, at).await?;
        self.way.joined(session, worker);
        answer(fails, Ok(session))
    }

    async fn token(&self, session: u64) -> Result<Option<Digest>, Error> {
        let fails = self.meet(("token", session)).await?;
        answer(fails, self.store.token(session).await)
    }

    async fn grant(&self, leases: &[Lease], at: i64) -> Result<(), Error> {
        let what = ("grant", said(leases));
        let (store, way, leases) = (self.store.clone(), self.way.clone(), leases.to_vec());
        let write = async move {
            store.grant(&leases, at).await?;
            way.granted(&leases);
            Ok(())
        };
        self.arrives(what, write).await
    }

    async fn commit(&self, commit: &Commit, at: i64) -> Result<Committed, Error> {
        self.way.commits(commit);
        let what = ("commit", (commit.session, commit.sequence));
        let (store, commit) = (self.store.clone(), commit.clone());
        self.arrives(what, async move { store.commit(&commit, at).await }).await
    }

    async fn watermark(&self, session: u64) -> Result<Option<u64>, Error> {
        let fails = self.meet(("watermark", session)).await?;
        answer(fails, self.store.watermark(session).await)
    }

    async fn heartbeat(&self, session: u64, unsettled: Usd, begun: &[Lease], at: i64) -> Result<(), Error> {
        let fails = self.meet(("heartbeat", (session, said(begun)))).await?;
        answer(fails, self.store.heartbeat(session, unsettled, begun, at).await)
    }

    async fn fund(&self, run: &RunId, session: u64, account: Account, granted: Usd) -> Result<Slice, Error> {
        let (store, of) = (self.store.clone(), run.clone());
        self.arrives(("fund", (run, session)), async move { store.fund(&of, session, account, granted).await }).await
    }

    async fn release(&self, session: u64, trials: &[Lease], begun: bool, at: i64) -> Result<(), Error> {
        let what = ("release", (session, said(trials), begun));
        let (store, trials) = (self.store.clone(), trials.to_vec());
        self.arrives(what, async move { store.release(session, &trials, begun, at).await }).await
    }

    async fn resume(&self, run: &RunId, again: &[u64], replays: u32) -> Result<(), Error> {
        let what = ("resume", (run, again));
        let (store, run, trials) = (self.store.clone(), run.clone(), again.to_vec());
        self.arrives(what, async move { store.resume(&run, &trials, replays).await }).await
    }

    async fn end_session(
        &self,
        session: u64,
        reason: &str,
        proof: bool,
        begun: &[Lease],
        at: i64,
    ) -> Result<Vec<Lease>, Error> {
        let what = ("end_session", (session, reason, proof));
        let (store, reason, begun) = (self.store.clone(), reason.to_owned(), begun.to_vec());
        self.arrives(what, async move { store.end_session(session, &reason, proof, &begun, at).await }).await
    }

    async fn recover(&self, run: &RunId) -> Result<Recovered, Error> {
        let fails = self.meet(("recover", run)).await?;
        answer(fails, self.store.recover(run).await)
    }

    async fn lost_over_time(&self, run: &RunId, limit: u32) -> Result<Vec<(i64, u64)>, Error> {
        let fails = self.meet(("lost_over_time", run)).await?;
        answer(fails, self.store.lost_over_time(run, limit).await)
    }

    async fn trials(&self, run: &RunId, first: u64, limit: u32) -> Result<Vec<StoredTrial>, Error> {
        let fails = self.meet(("trials", (run, first))).await?;
        answer(fails, self.store.trials(run, first, limit).await)
    }

    async fn pieces(&self, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
        let fails = self.meet(("pieces", (run, asked.len()))).await?;
        answer(fails, self.store.pieces(run, asked).await)
    }

    async fn add_join_token(&self, token: &JoinToken, at: i64) -> Result<(), Error> {
        let fails = self.meet(("add_join_token", &token.digest)).await?;
        answer(fails, self.store.add_join_token(token, at).await)
    }

    async fn redeem(&self, token: &Digest, at: i64) -> Result<Redeemed, Error> {
        let fails = self.meet(("redeem", token)).await?;
        answer(fails, self.store.redeem(token, at).await)
    }

    async fn spend(&self, run: &RunId) -> Result<Spend, Error> {
        let fails = self.meet(("spend", run)).await?;
        answer(fails, self.store.spend(run).await)
    }

    async fn draw(&self, limit: &str, day: i64, most: u64, ask: i64) -> Result<Drawn, Error> {
        let fails = self.meet(("draw", (limit, day))).await?;
        answer(fails, self.store.draw(limit, day, most, ask).await)
    }

    async fn attempts(&self, run: &RunId, after: Option<(u64, u32)>, limit: u32) -> Result<Vec<StoredAttempt>, Error> {
        let fails = self.meet(("attempts", run)).await?;
        answer(fails, self.store.attempts(run, after, limit).await)
    }

    async fn delete_run(&self, run: &RunId) -> Result<(), Error> {
        let fails = self.meet(("delete_run", run)).await?;
        answer(fails, self.store.delete_run(run).await)
    }

    async fn sweep(&self, limit: u32) -> Result<bool, Error> {
        let fails = self.meet(("sweep", ())).await?;
        answer(fails, self.store.sweep(limit).await)
    }

    async fn check(&self) -> Result<(), Error> {
        self.term.as_ref().map_or(Ok(()), Term::check)
    }
}
