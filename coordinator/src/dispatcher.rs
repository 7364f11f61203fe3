//! The one task that owns who plays what: it asks the scheduler, stores what it orders, then believes it.
//!
//! A grant is stored before it is sent, a batch before it is acknowledged or counted. When the store fails, what
//! the scheduler believes may not be stored, so everything stops: running runs are interrupted, workers are sent
//! home, and a resume starts from what the store has.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use record::{Usd, summary::RunState};
use scenario::RunId;
use store::{Commit, EndedTrial, Store};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    active::Active,
    command::{Capacity, Command, Message, Order, Refusal},
    links::{Links, Turn},
    roster::Roster,
    shares::Shares,
};
use crate::{
    Clock, Config, Observers, aggregate,
    scheduler::{Event, Held, Scheduler},
    token::Token,
};

mod act;
pub(crate) mod active;
mod beginning;
pub(crate) mod command;
mod links;
mod roster;
mod runs;
pub(crate) mod shares;
mod shown;

/// Ended runs that stay in memory, for those who ask for their numbers next.
const ENDED_KEPT: usize = 8;
/// How long a drain waits for the numbers of runs that have just ended.
const LAST_NUMBERS: Duration = Duration::from_secs(2);
/// Between two looks whether the store is where it was.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("session {0} is over")]
    SessionOver(u64),
    #[error("session {0} belongs to another worker")]
    NotYours(u64),
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    #[error("run {run} is {state:?}, so it cannot be resumed")]
    NotResumable { run: RunId, state: RunState },
    /// What was sent cannot be used.
    #[error("{0}")]
    Refused(String),
    #[error("the coordinator has stopped")]
    Stopped,
    #[error(transparent)]
    Read(#[from] aggregate::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Read(error.into())
    }
}

#[derive(Debug)]
pub(crate) struct Dispatcher<S> {
    store: Arc<S>,
    config: Config,
    clock: Clock,
    observers: Observers,
    began: Instant,
    scheduler: Scheduler,
    runs: BTreeMap<RunId, Active>,
    /// Runs in memory that have ended, oldest first.
    ended: VecDeque<RunId>,
    links: Links,
    roster: Roster,
    shares: Shares,
    /// The session in which the coordinator itself ends poisoned trials, and its last sequence.
    own: Option<(u64, u64)>,
    /// Ended runs whose numbers are being found out for those who look on.
    telling: JoinSet<()>,
    /// When it was last looked whether the store is there.
    looked: Instant,
}

impl<S: Store> Dispatcher<S> {
    pub(crate) fn new(store: Arc<S>, config: Config, clock: Clock, observers: Observers) -> Self {
        Self {
            store,
            config,
            clock,
            observers,
            began: Instant::now(),
            scheduler: Scheduler::new(config.timing),
            runs: BTreeMap::new(),
            ended: VecDeque::new(),
            links: Links::default(),
            roster: Roster::default(),
            shares: Shares::default(),
            own: None,
            telling: JoinSet::new(),
            looked: Instant::now(),
        }
    }

    /// Until `drain`: then what was sent already is still stored and acknowledged, and all streams are closed.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Command>, drain: CancellationToken) {
        let mut tick = tokio::time::interval(self.config.timing.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                _ = tick.tick() => self.tick().await,
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
        // Whoever looks on gets the last numbers, unless that takes long; what is left of it is given up.
        let _ = tokio::time::timeout(LAST_NUMBERS, self.telling.join_all()).await;
    }

    async fn tick(&mut self) {
        self.look_for_the_store().await;
        self.hear(Event::Tick).await;
        let running: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id.clone()).collect();
        running.iter().for_each(|run| self.publish(run));
        self.share_limits();
        self.show_fleet();
        while self.telling.try_join_next().is_some() {}
    }

    /// Whether the store is where it was. A commit finds out too, but an agent may take minutes for its next reply.
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
        // Whoever asked may be gone by now; then nobody waits for the answer.
        match command {
            Command::Join { worker, reply } => {
                let _ = reply.send(self.join(&worker).await);
            }
            Command::Open { session, token, worker, orders, wanted, reply } => {
                let _ = reply.send(self.open(session, &token, worker, orders, wanted).await);
            }
            Command::Hear { session, stream, message } => self.listen(session, stream, message).await,
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
            Command::Resume { run, failed, reply } => {
                let _ = reply.send(self.resume(&run, failed).await);
                self.share_limits();
            }
            Command::Cancel { run, drain, reply } => {
                let _ = reply.send(self.cancel(&run, drain).await);
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

    async fn join(&mut self, worker: &str) -> Result<(u64, Token), Error> {
        let token = Token::random()?;
        let session = self.store.open_session(worker, &token.digest(), self.clock.now()).await?;
        self.hear(Event::Joined { session }).await;
        tracing::info!(session, worker, "worker joined");
        Ok((session, token))
    }

    async fn open(
        &mut self,
        session: u64,
        token: &Token,
        worker: Capacity,
        orders: mpsc::Sender<Order>,
        wanted: DropGuard,
    ) -> Result<u64, Error> {
        let owner = self.store.token(session).await?.ok_or(Error::SessionOver(session))?;
        if owner != token.digest() {
            tracing::warn!(session, worker = worker.name, "a stream is refused: the session is another worker's");
            return Err(Error::NotYours(session));
        }
        let acknowledged = self.store.watermark(session).await?.ok_or(Error::SessionOver(session))?;
        if !self.scheduler.knows(session) {
            // From before a restart, and not given up by the store.
            self.hear(Event::Joined { session }).await;
        }
        self.roster.opened(session, &worker, Instant::now());
        let Capacity { agents, slots, .. } = worker;
        let stream = self.links.open(session, orders, wanted, acknowledged, slots);
        self.shares.opened(session, slots);
        self.links.send(session, Order::Welcome { acknowledged });
        self.hear(Event::Connected { session, agents }).await;
        self.share_limits();
        Ok(stream)
    }

    async fn listen(&mut self, session: u64, stream: u64, message: Message) {
        // What an older stream still had to say is said again on the newer one.
        if self.links.get(session, stream).is_none() {
            return;
        }
        match message {
            Message::Beat { held, unsettled } => {
                self.roster.heard(session, Instant::now());
                if let Err(error) = self.keep_beat(session, stream, unsettled).await {
                    return self.store_failed_for(session, error).await;
                }
                self.hear(Event::Beat { session, held }).await;
            }
            Message::Claim { number, want, idle } => {
                self.hear(Event::Claimed { session, number, want, idle }).await;
            }
            Message::Begun { trials } => self.hear(Event::Begun { session, trials }).await,
            Message::Release { trials, begun } => self.hear(Event::Released { session, trials, begun }).await,
            Message::Leave => {
                self.hear(Event::Left { session }).await;
                self.share_limits();
            }
            Message::ShareTaken { share } => {
                self.shares.taken(session, share);
                self.share_limits();
            }
            Message::Malformed { reason } => self.links.dismiss(session, &reason),
            Message::Unstorable { sequence, refusal } => {
                if self.is_due(session, stream, sequence) {
                    self.refuse(session, stream, sequence, refusal);
                }
            }
            Message::Batch { mut commit, room } => {
                if !self.is_due(session, stream, commit.sequence) {
                    return;
                }
                commit.replays = self.runs.get(&commit.run).map_or(0, |run| run.plan.replays);
                commit.begun = self.links.take_begun(session, stream);
                if let Err(error) = self.commit(session, stream, &commit).await {
                    self.store_failed_for(session, error).await;
                }
                drop(room);
            }
        }
    }

    /// Stores that the session lives, unless that was done a moment ago and nothing has changed.
    async fn keep_beat(&mut self, session: u64, stream: u64, unsettled: Usd) -> Result<(), store::Error> {
        let (now, at) = (Instant::now(), self.clock.now());
        let Some(link) = self.links.get(session, stream) else { return Ok(()) };
        let recent = link.stored_at.is_some_and(|stored| now.duration_since(stored) < self.config.timing.stored_beat);
        if recent && link.unsettled == Some(unsettled) && link.begun.is_empty() {
            return Ok(());
        }
        (link.unsettled, link.stored_at) = (Some(unsettled), Some(now));
        let begun = std::mem::take(&mut link.begun);
        self.store.beat(session, unsettled, &begun, at).await
    }

    /// Tells workers which part of their limits they may use from now on, where that has changed.
    fn share_limits(&mut self) {
        let now = Instant::now().duration_since(self.began);
        for (session, share) in self.shares.balance(|session| self.scheduler.plays(session), now) {
            self.links.send(session, Order::Share(share));
        }
    }

    /// Whether a batch is taken now, by its number. One that comes too early ends the session.
    fn is_due(&mut self, session: u64, stream: u64, sequence: u64) -> bool {
        let turn = self.links.get(session, stream).map(|link| link.turn_of(sequence));
        if let Some(Turn::Early(due)) = turn {
            self.links.dismiss(session, &format!("batch {sequence} came where {due} was due"));
        }
        turn == Some(Turn::Takes)
    }

    /// Nothing of the batch is stored. The trials at fault end by it, and the session goes on.
    fn refuse(&mut self, session: u64, stream: u64, sequence: u64, refusal: Refusal) {
        let Some(link) = self.links.get(session, stream) else { return };
        if sequence <= link.acknowledged {
            // What is committed is never sent in another form.
            return self.links.send(session, Order::Acknowledged { sequence });
        }
        link.refuse(sequence);
        tracing::warn!(session, sequence, reason = refusal.reason, "a batch is refused; its trials end as errors");
        self.links.send(session, Order::Refused { sequence, refusal });
    }

    async fn commit(&mut self, session: u64, stream: u64, commit: &Commit) -> Result<(), store::Error> {
        if let Some(run) = self.runs.get(&commit.run)
            && let Some((trial, reason)) =
                commit.ended.iter().find_map(|ended| run.refuses(&ended.trial).map(|why| (&ended.trial, why)))
        {
            let trials = trial.number..trial.number.saturating_add(1);
            let trials = vec![Held { run: commit.run.clone(), trials, epoch: trial.epoch }];
            self.refuse(session, stream, commit.sequence, Refusal { reason, trials });
            return Ok(());
        }
        let asked = Instant::now();
        let committed = self.store.commit(commit, self.clock.now()).await?;
        self.observers.metrics.committed(asked.elapsed());
        if committed.session_over {
            self.links.dismiss(session, "the session is over");
            return Ok(());
        }
        if let Some(link) = self.links.get(session, stream) {
            link.acknowledged = link.acknowledged.max(commit.sequence);
            link.stored_at = Some(Instant::now());
        }
        let (mut exhausted, mut hopeless) = (false, None);
        if let Some(run) = self.runs.get_mut(&commit.run).filter(|_| !committed.duplicate) {
            run.spent(&commit.segment.spend);
            let was_hopeless = run.hopeless.is_some();
            // The first of several that name one trial is the one that was counted.
            let mut counted: BTreeSet<u64> = committed.counted.iter().copied().collect();
            let mut kept: BTreeSet<u64> = counted.iter().chain(&committed.again).copied().collect();
            for EndedTrial { trial, .. } in &commit.ended {
                if counted.remove(&trial.number) {
                    run.count(trial, committed.past(trial.number), &self.observers);
                }
                exhausted |= kept.remove(&trial.number) && trial.is_exhausted();
            }
            run.row.exhausted |= exhausted;
            if run.is_running() && !was_hopeless {
                hopeless.clone_from(&run.hopeless);
            }
        }
        self.links.send(session, Order::Acknowledged { sequence: commit.sequence });
        let fenced: Vec<Held> = commit
            .ended
            .iter()
            .map(|ended| &ended.trial)
            .filter(|trial| committed.fenced.contains(&trial.number))
            .filter(|trial| !committed.counted.contains(&trial.number) && !committed.again.contains(&trial.number))
            .map(|trial| Held { run: commit.run.clone(), trials: trial.number..trial.number + 1, epoch: trial.epoch })
            .collect();
        if !fenced.is_empty() {
            self.links.send(session, Order::Fenced { trials: fenced });
        }
        if !committed.counted.is_empty() {
            self.hear(Event::Ended { session, run: commit.run.clone(), trials: committed.counted }).await;
        }
        if !committed.again.is_empty() {
            self.hear(Event::Again { session, run: commit.run.clone(), trials: committed.again }).await;
        }
        if exhausted {
            tracing::warn!(run = %commit.run, "a provider's quota is used up; the run is drained");
            self.hear(Event::RunStopped { run: commit.run.clone(), drain: true }).await;
        }
        if let Some(reason) = hopeless {
            tracing::warn!(run = %commit.run, reason, "the run is drained");
            self.hear(Event::RunStopped { run: commit.run.clone(), drain: true }).await;
        }
        self.publish(&commit.run);
        Ok(())
    }

    /// Some of what a store refuses is the worker's fault and no reason to stop everything.
    async fn store_failed_for(&mut self, session: u64, error: store::Error) {
        match error {
            store::Error::UnknownRun(_) | store::Error::SessionOver(_) => {
                self.links.dismiss(session, &error.to_string())
            }
            _ => self.store_failed(&error).await,
        }
    }
}
