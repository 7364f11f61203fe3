//! A cheap handle on a running coordinator, for its services.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use record::{Summary, Tally, Usd, summary::RunState};
use scenario::{Digest, Plan, RunId};
use store::{Recovered, RunRow, Store};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::DropGuard;

use crate::{
    Clock, Config, Progress, Timing, aggregate,
    dispatcher::{
        Error, WAITING_BYTES,
        active::{Fleet, progress},
        command::{By, Capacity, Command, Message, Order, Reply, Resumed, Snapshot, WorkerShown},
    },
    token::Token,
};

#[derive(Debug)]
pub struct Handle<S> {
    commands: mpsc::Sender<Command>,
    store: Arc<S>,
    room: Arc<Semaphore>,
    config: Config,
    clock: Clock,
    /// The zero of the scheduler's clock; workers get it.
    began: Instant,
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self {
            commands: self.commands.clone(),
            store: Arc::clone(&self.store),
            room: Arc::clone(&self.room),
            config: self.config,
            clock: self.clock.clone(),
            began: self.began,
        }
    }
}

impl<S: Store> Handle<S> {
    pub(crate) fn new(
        commands: mpsc::Sender<Command>,
        store: Arc<S>,
        room: Arc<Semaphore>,
        config: Config,
        clock: Clock,
        began: Instant,
    ) -> Self {
        Self { commands, store, room, config, clock, began }
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn store(&self) -> &Arc<S> {
        &self.store
    }

    pub(crate) fn timing(&self) -> Timing {
        self.config.timing
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }

    /// The numbers of a run so far; final once it has ended.
    pub async fn summary(&self, run: &RunId) -> Result<Summary, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Snapshot { run: run.clone(), reply }).await?;
        match answer.await.map_err(|_| Error::Stopped)? {
            Some(snapshot) => {
                let Snapshot { row, plan, tally, suite } = snapshot;
                Ok(aggregate::finish(&*self.store, &row, &plan, &tally, suite.as_ref()).await?)
            }
            None => Ok(aggregate::summarize(&*self.store, run).await?),
        }
    }

    /// How far the run is, now and whenever that changes.
    pub async fn watch(&self, run: &RunId) -> Result<watch::Receiver<Progress>, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Watch { run: run.clone(), reply }).await?;
        if let Some(receiver) = answer.await.map_err(|_| Error::Stopped)? {
            return Ok(receiver);
        }
        let row = aggregate::row(&*self.store, run).await?;
        let which = aggregate::Which::of(row.state);
        let tally = aggregate::tally(&*self.store, run, which, Tally::default()).await?;
        let spend = self.store.spend(run).await?;
        let Recovered { lost_attempts, decisions, .. } = self.store.recover(run).await?;
        let progress = progress(&row, &tally, &spend, lost_attempts, &decisions, Fleet::default(), self.now());
        Ok(watch::channel(progress).1)
    }

    /// Whether the store answers and runs are played, or why not.
    pub async fn health(&self) -> Result<(), Error> {
        if self.commands.is_closed() {
            return Err(Error::Stopped);
        }
        // Any question will do, if it goes to the disk.
        self.store.run(&RunId::new("health")).await?;
        Ok(())
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// `owner`: the identity of the worker's certificate.
    pub(crate) async fn join(&self, worker: String, owner: String) -> Result<(u64, Token), Error> {
        self.ask(|reply| Command::Join { worker, owner, reply }).await
    }

    pub(crate) async fn open_stream(
        &self,
        session: u64,
        proof: Digest,
        worker: Capacity,
        orders: mpsc::Sender<Order>,
        wanted: DropGuard,
    ) -> Result<u64, Error> {
        self.ask(|reply| Command::Open { session, proof, worker, orders, wanted, reply }).await
    }

    pub(crate) async fn hear(&self, session: u64, stream: u64, message: Message) -> Result<(), Error> {
        self.send(Command::Hear { session, stream, message, heard: Instant::now() }).await
    }

    pub(crate) async fn close_stream(&self, session: u64, stream: u64) -> Result<(), Error> {
        self.send(Command::Close { session, stream }).await
    }

    /// Waits until a batch of this size may wait for the store.
    pub(crate) async fn room_for(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
        let permits = u32::try_from(bytes.clamp(1, WAITING_BYTES)).unwrap_or(u32::MAX);
        Arc::clone(&self.room).acquire_many_owned(permits).await.map_err(|_| Error::Stopped)
    }

    pub(crate) async fn submit(&self, row: RunRow, plan: Plan, json: Bytes) -> Result<(), Error> {
        self.ask(|reply| Command::Submit { row, plan: Arc::new(plan), json, reply }).await
    }

    pub(crate) async fn resume(
        &self,
        run: RunId,
        by: By,
        failed: bool,
        max_cost: Option<Usd>,
    ) -> Result<Resumed, Error> {
        self.ask(|reply| Command::Resume { run, by, failed, max_cost, reply }).await
    }

    pub(crate) async fn cancel(&self, run: RunId, by: By, drain: bool) -> Result<RunState, Error> {
        self.ask(|reply| Command::Cancel { run, by, drain, reply }).await
    }

    pub(crate) async fn pause(&self, run: RunId, by: By) -> Result<(), Error> {
        self.ask(|reply| Command::Pause { run, by, reply }).await
    }

    pub(crate) async fn set_slots(&self, run: RunId, by: By, group: Option<String>, slots: u32) -> Result<(), Error> {
        self.ask(|reply| Command::SetSlots { run, by, group, slots, reply }).await
    }

    /// Returns in how long the rate holds.
    pub(crate) async fn set_rate(
        &self,
        run: RunId,
        by: By,
        group: Option<String>,
        rate: f64,
    ) -> Result<Duration, Error> {
        self.ask(|reply| Command::SetRate { run, by, group, rate, reply }).await
    }

    /// Deletes a run that is not running. Its rows are removed soon.
    pub(crate) async fn delete(&self, run: &RunId) -> Result<(), Error> {
        self.store.delete_run(run).await?;
        tokio::spawn(sweep(Arc::clone(&self.store)));
        Ok(())
    }

    pub(crate) async fn workers(&self) -> Result<Vec<WorkerShown>, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Workers { reply }).await?;
        answer.await.map_err(|_| Error::Stopped)
    }

    pub(crate) async fn plan(&self, digest: &Digest) -> Result<Bytes, Error> {
        let missing = || aggregate::Error::PlanMissing(digest.clone());
        Ok(self.store.plan(digest).await?.ok_or_else(missing)?)
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        answer.await.map_err(|_| Error::Stopped)?
    }

    async fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| Error::Stopped)
    }
}

/// Rows of deleted runs that are removed in one transaction: workers wait for it.
const SWEPT_ROWS: u32 = 200;
/// So that other writers come in between.
const BETWEEN_SWEEPS: Duration = Duration::from_millis(20);

/// Removes what deleted runs left in the store.
pub async fn sweep<S: Store>(store: Arc<S>) {
    loop {
        match store.sweep(SWEPT_ROWS).await {
            Ok(true) => tokio::time::sleep(BETWEEN_SWEEPS).await,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "failed to remove a deleted run; the coordinator tries again when it starts");
                return;
            }
        }
    }
}
