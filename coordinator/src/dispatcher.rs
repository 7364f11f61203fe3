//! The one task that owns the scheduler: it stores the scheduler's decisions, then sends them to workers.
//!
//! A grant is stored before it is sent, a batch before it is acknowledged or counted. When the store fails, the scheduler's
//! state may differ from the store's. Then everything stops: runs are interrupted, sessions end, and a resume starts from
//! the store.
//!
//! One task, and no lock: commands arrive in one channel, so each is handled against a state that no other changes
//! meanwhile. A slow store therefore slows all commands. That is intended: the channel is bounded, so streams are read
//! later, and workers stop starting turns.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use record::{Usd, runner::Sample};
use scenario::{Digest, RunId};
use store::Store;
use telemetry::process;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    active::Active,
    command::{Capacity, Command, LimitWord, Message, Order},
    days::Days,
    endpoints::Endpoints,
    links::Links,
    roster::Roster,
    shares::Shares,
};
use crate::{
    Clock, Config, Observers, Reclaim,
    scheduler::{Event, Scheduler},
    token::Token,
};

mod act;
pub(crate) mod active;
pub(crate) mod allocator;
pub(crate) mod command;
mod commit;
mod conclude;
mod control;
pub(crate) mod days;
mod deciding;
mod early_stop;
pub(crate) mod endpoints;
mod error;
mod hear_limits;
pub(crate) mod limit_words;
mod links;
mod load_progress;
mod money;
mod objectives;
mod roster;
mod runs;
mod searches;
pub(crate) mod shares;
mod shown;

pub use self::error::Error;

/// How many bytes of batches may wait for the store, over all streams. Above it streams are not read.
pub(crate) const WAITING_BYTES: usize = 16 << 20;
/// How many ended runs keep their numbers in memory.
const ENDED_KEPT: usize = 8;
/// How long a drain waits until the numbers of ended runs are shown.
const LAST_NUMBERS: Duration = Duration::from_secs(2);
/// Between two checks that the store was not removed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Dispatcher<S> {
    store: Arc<S>,
    config: Config,
    clock: Clock,
    observers: Observers,
    /// A permit for each byte of batches that may wait.
    room: Arc<Semaphore>,
    /// The zero of the scheduler's clock.
    began: Instant,
    /// When the message that is being answered was read, on the scheduler's clock.
    heard: Duration,
    scheduler: Scheduler,
    runs: BTreeMap<RunId, Active>,
    /// Runs that were resumed and could not be started, since the store failed: the store may have them as running.
    unstarted: BTreeSet<RunId>,
    /// Runs in memory that have ended, oldest first.
    ended: VecDeque<RunId>,
    links: Links,
    roster: Roster,
    shares: Shares,
    days: Days,
    endpoints: Endpoints,
    /// The session in which the coordinator itself ends poisoned trials, and its last sequence.
    own: Option<(u64, u64)>,
    /// Another coordinator is in charge of the store.
    replaced: bool,
    /// Tasks that compute the numbers of ended runs for observers.
    telling: JoinSet<()>,
    /// When the store was last checked.
    looked: Instant,
}

impl<S: Store> Dispatcher<S> {
    pub(crate) fn new(store: Arc<S>, config: Config, clock: Clock, observers: Observers) -> Self {
        Self {
            store,
            config,
            clock,
            observers,
            room: Arc::new(Semaphore::new(WAITING_BYTES)),
            began: Instant::now(),
            heard: Duration::ZERO,
            scheduler: Scheduler::new(config.timing),
            runs: BTreeMap::new(),
            unstarted: BTreeSet::new(),
            ended: VecDeque::new(),
            links: Links::default(),
            roster: Roster::default(),
            shares: Shares::new(config.reclaim == Reclaim::AfterTtl),
            days: Days::default(),
            endpoints: Endpoints::default(),
            own: None,
            replaced: false,
            telling: JoinSet::new(),
            looked: Instant::now(),
        }
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn room(&self) -> Arc<Semaphore> {
        Arc::clone(&self.room)
    }

    /// Runs until `drain`. Then what workers have sent already is stored and acknowledged, and all streams close.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Command>, drain: CancellationToken) {
        let mut tick = tokio::time::interval(self.config.timing.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                _ = tick.tick() => {
                    self.show_waiting(commands.len());
                    self.tick().await;
                }
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => break,
                },
            }
        }
        commands.close();
        while let Some(command) = commands.recv().await {
            self.obey(command).await;
        }
        // Observers get the last numbers, unless that takes too long.
        let _ = tokio::time::timeout(LAST_NUMBERS, self.telling.join_all()).await;
    }

    async fn tick(&mut self) {
        self.look_for_the_store().await;
        self.start_the_unstarted().await;
        self.hear(Event::Tick).await;
        self.judge_objectives().await;
        self.steer_searches().await;
        let running: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id.clone()).collect();
        for run in &running {
            // A trial that the coordinator itself ended may have decided it.
            self.stop_what_is_decided(run).await;
            self.publish(run);
        }
        self.share_limits();
        self.share_all_money().await;
        self.show_fleet();
        while self.telling.try_join_next().is_some() {}
    }

    /// Checks that the store was not removed. A commit would notice too, but the next commit may wait minutes for an
    /// agent's reply.
    async fn look_for_the_store(&mut self) {
        if self.looked.elapsed() < BETWEEN_LOOKS || !self.runs.values().any(Active::is_running) {
            return;
        }
        self.looked = Instant::now();
        if let Err(error) = self.store.check().await {
            self.store_failed(&error).await;
        }
    }

    async fn obey(&mut self, command: Command) {
        // A failed reply means that the asker is gone.
        match command {
            Command::Join { worker, owner, reply } => {
                let _ = reply.send(self.join(&worker, &owner).await);
            }
            Command::Open { session, proof, worker, orders, wanted, reply } => {
                let _ = reply.send(self.open(session, &proof, worker, orders, wanted).await);
            }
            Command::Hear { session, stream, message, heard } => {
                self.heard = heard.duration_since(self.began);
                self.listen(session, stream, message).await;
            }
            Command::Close { session, stream } => {
                if self.links.closed(session, stream) {
                    self.shares.closed(session);
                    self.hear(Event::Disconnected { session }).await;
                }
            }
            Command::Submit { row, plan, json, reply } => {
                let _ = reply.send(self.submit(row, plan, &json).await);
                self.share_limits();
            }
            Command::Resume { run, by, failed, max_cost, reply } => {
                let _ = reply.send(self.resume(&run, by.as_deref(), failed, max_cost).await);
                self.share_limits();
            }
            Command::Cancel { run, by, drain, reply } => {
                let _ = reply.send(self.cancel(&run, by.as_deref(), drain).await);
            }
            Command::Pause { run, by, reply } => {
                let _ = reply.send(self.pause(&run, by.as_deref()).await);
            }
            Command::SetSlots { run, by, group, slots, reply } => {
                let _ = reply.send(self.set_slots(&run, by.as_deref(), group.as_deref(), slots).await);
            }
            Command::SetRate { run, by, group, rate, reply } => {
                let _ = reply.send(self.set_rate(&run, by.as_deref(), group.as_deref(), rate).await);
            }
            Command::Watch { run, reply } => {
                let _ = reply.send(self.runs.get(&run).map(Active::watch));
            }
            Command::Snapshot { run, reply } => {
                let _ = reply.send(self.snapshot(&run));
            }
            Command::Workers { reply } => {
                let _ = reply.send(self.roster.shown(&self.scheduler, Instant::now()));
            }
        }
    }

    async fn join(&mut self, worker: &str, owner: &str) -> Result<(u64, Token), Error> {
        let token = Token::random()?;
        let session = self.store.open_session(worker, &token.digest(owner), self.clock.now()).await?;
        fail::fail_point!("session-opened");
        self.hear(Event::Joined { session }).await;
        tracing::info!(session, worker, "worker joined");
        Ok((session, token))
    }

    async fn open(
        &mut self,
        session: u64,
        proof: &Digest,
        worker: Capacity,
        orders: mpsc::Sender<Order>,
        wanted: DropGuard,
    ) -> Result<u64, Error> {
        // The store can still be read, and a Welcome would let the worker go on.
        if self.replaced {
            return Err(store::Error::TakenOver.into());
        }
        let owner = self.store.token(session).await?.ok_or(Error::SessionOver(session))?;
        if owner != *proof {
            tracing::warn!(session, worker = worker.name, "a stream is refused: the session is another worker's");
            return Err(Error::NotYours(session));
        }
        let acknowledged = self.store.watermark(session).await?.ok_or(Error::SessionOver(session))?;
        if !self.scheduler.knows(session) {
            // A session from before a restart that the store has not ended.
            self.hear(Event::Joined { session }).await;
        }
        self.roster.opened(session, &worker, Instant::now());
        let Capacity { agents, slots, .. } = worker;
        let stream = self.links.open(session, orders, wanted, acknowledged, slots);
        self.shares.opened(session, slots);
        self.endpoints.opened(session);
        self.links.send(session, Order::Welcome { acknowledged, heard: self.now() });
        self.returns_to_money(session);
        self.hear(Event::Connected { session, agents, slots }).await;
        self.share_limits();
        Ok(stream)
    }

    async fn listen(&mut self, session: u64, stream: u64, message: Message) {
        // An older stream: the worker repeats its messages on the newer one.
        if self.links.get(session, stream).is_none() {
            return;
        }
        match message {
            Message::Heartbeat { held, unsettled, runner, purses } => {
                for (run, word) in purses {
                    if let Err(error) = self.hear_money(session, &run, word).await {
                        return self.store_failed_for(session, error).await;
                    }
                }
                self.roster.heard(session, Instant::now());
                if let Err(error) = self.keep_runner(session, runner).await {
                    return self.store_failed(&error).await;
                }
                if let Err(error) = self.keep_heartbeat(session, stream, unsettled).await {
                    return self.store_failed_for(session, error).await;
                }
                self.hear(Event::Heartbeat { session, held }).await;
            }
            Message::Claim { number, want, idle, ahead } => {
                self.hear(Event::Claimed { session, number, want, idle, ahead }).await;
            }
            Message::Purse { run, word } => {
                if let Err(error) = self.hear_money(session, &run, word).await {
                    self.store_failed_for(session, error).await;
                }
            }
            Message::Limits { limits } => self.hear_limits(session, limits).await,
            Message::Begun { trials } => self.hear(Event::Begun { session, trials }).await,
            Message::Release { trials, begun } => self.hear(Event::Released { session, trials, begun }).await,
            Message::Leave => {
                self.hear(Event::Left { session }).await;
                self.share_limits();
            }
            Message::ShareTaken { limit, share } => {
                self.shares.taken(session, &limit, share);
                self.share_limits();
            }
            Message::Malformed { reason } => self.links.dismiss(session, &reason),
            Message::Unstorable { sequence, refusal } => {
                if self.is_due(session, stream, sequence) {
                    self.refuse(session, stream, sequence, refusal);
                }
            }
            Message::Batch { commit, room } => {
                if let Err(error) = self.take_batch(session, stream, *commit).await {
                    self.store_failed_for(session, error).await;
                }
                drop(room);
            }
        }
    }

    /// Stores how loaded the machine of a worker is that plays a load.
    async fn keep_runner(&mut self, session: u64, sample: Option<Sample>) -> Result<(), store::Error> {
        let Some(sample) = sample else { return Ok(()) };
        let (now, mut own_bytes) = (self.clock.now(), None);
        for (id, _) in self.scheduler.held_by_run(session) {
            let Some(run) = self.runs.get_mut(&id) else { continue };
            let own_bytes = *own_bytes.get_or_insert_with(process::resident_bytes);
            if let Some(runner) = run.measured(sample, self.scheduler.slots_for(&id), own_bytes, now) {
                self.store.set_runner(&id, runner).await?;
            }
        }
        Ok(())
    }

    /// Stores the session's heartbeat, unless one was stored recently and nothing has changed.
    async fn keep_heartbeat(&mut self, session: u64, stream: u64, unsettled: Usd) -> Result<(), store::Error> {
        let (now, at) = (Instant::now(), self.clock.now());
        let Some(link) = self.links.get(session, stream) else { return Ok(()) };
        let recent =
            link.stored_at.is_some_and(|stored| now.duration_since(stored) < self.config.timing.stored_heartbeat);
        if recent && link.unsettled == Some(unsettled) && link.begun.is_empty() {
            return Ok(());
        }
        (link.unsettled, link.stored_at) = (Some(unsettled), Some(now));
        let begun = std::mem::take(&mut link.begun);
        self.store.heartbeat(session, unsettled, &begun, at).await
    }

    /// Sends workers their new share of the limits if it has changed.
    fn share_limits(&mut self) {
        let now = Instant::now().duration_since(self.began);
        for (session, limit, share) in self.shares.balance(|session| self.scheduler.plays(session), now) {
            self.links.send(session, Order::Share { limit, share });
        }
    }

    /// A worker says what it needs of its limits.
    async fn hear_limits(&mut self, session: u64, limits: Vec<LimitWord>) {
        for LimitWord { name, demand, health, day } in limits {
            self.shares.hear(session, &name, demand);
            if let Err(error) = self.hear_health(session, &name, health).await {
                return self.store_failed_for(session, error).await;
            }
            if let Some(word) = day
                && let Err(error) = self.hear_day(session, &name, word).await
            {
                return self.store_failed_for(session, error).await;
            }
        }
        self.share_limits();
    }

    /// Some errors of the store are the worker's fault: they end its session and nothing else.
    async fn store_failed_for(&mut self, session: u64, error: store::Error) {
        match error {
            store::Error::UnknownRun(_) | store::Error::SessionOver(_) => {
                self.links.dismiss(session, &error.to_string())
            }
            _ => self.store_failed(&error).await,
        }
    }
}
