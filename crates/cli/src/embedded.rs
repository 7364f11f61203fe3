//! Coordinator and worker in this process: the same two, without a network between them. This file and the transport of `proto`
//! are the whole difference.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use coordinator::{Clock, Config, Coordinator, Gate, Observers, Reclaim};
use listen::descriptors::Reserve;
use proto::Transport;
use record::{Usd, call::Spend};
use scenario::{Plan, RunId};
use store::{Sqlite, Store as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use worker::{Resources, Worker, pacer::Timer};

use crate::{
    client::{self, Client},
    clock,
    patience::Patience,
    run_folder::RUNS,
    store_threads,
};

/// Beside the runs: the requests of each day, which all runs share.
const REQUESTS: &str = "requests.db";
/// Descriptors for the files of a report and for the connections to the store that read it.
const RESERVE: usize = 32;

pub(crate) struct Embedded {
    client: Client,
    transport: Transport,
    worker: Option<JoinHandle<Result<(), worker::Error>>>,
    coordinator: JoinHandle<()>,
    store: Arc<Sqlite>,
    /// Descriptors for the report, in case conversations use all others.
    reserve: Option<Reserve>,
    /// Stops the worker, then the coordinator.
    drain_worker: worker::Drain,
    drain_coordinator: CancellationToken,
}

/// Opens a run's store, which only one process can have open.
pub(crate) async fn open(path: &Path) -> anyhow::Result<Arc<Sqlite>> {
    match Sqlite::open(path).await {
        Ok(store) => Ok(Arc::new(store.counting_days_in(Path::new(RUNS).join(REQUESTS)))),
        Err(error @ store::Error::InUse(_)) => Err(anyhow!(
            "{error}: the run is still being played\nhint: wait for its end, or interrupt it; only runs on a coordinator can be reported while they are played (`gabfest report RUN --coordinator URL`)"
        )),
        Err(error) => Err(error).with_context(|| format!("failed to open {}", path.display())),
    }
}

/// The run in a folder's store, and its plan; `None` if it was killed before the store had it.
pub(crate) async fn only_run(store: &Sqlite) -> anyhow::Result<Option<(RunId, Plan)>> {
    let Some(row) = store.runs().await?.into_iter().next() else { return Ok(None) };
    let bytes = store.plan(&row.plan_digest).await?.context("the store holds no plan")?;
    let plan = Plan::from_json(std::str::from_utf8(&bytes).context("failed to read the plan")?)
        .context("failed to read the plan")?;
    Ok(Some((row.id, plan)))
}

impl Embedded {
    /// Without a worker nothing is played; reports use this.
    pub(crate) async fn start(
        store: Arc<Sqlite>,
        worker: Option<(Resources, u32)>,
        observers: Observers,
    ) -> anyhow::Result<Self> {
        let reserve = worker.as_ref().map(|_| Reserve::of(RESERVE));
        let config = Config { reclaim: Reclaim::AtOnce, ..Config::default() };
        let (coordinator, handle) =
            Coordinator::open(Arc::clone(&store), config, Clock::new(clock::now_millis), observers)
                .await
                .context("failed to start the coordinator")?;
        let transport = Transport::from(coordinator::service::routes(handle, &Gate::Open));
        let drain_coordinator = CancellationToken::new();
        let coordinator = tokio::spawn(coordinator.run(drain_coordinator.clone()));
        let drain_worker = worker::Drain::default();
        let worker = match worker {
            None => None,
            Some((resources, slots)) => {
                store_threads::give_way();
                let (timing, timer) = (worker::Timing::default(), Timer::Precise);
                let config = worker::Config { name: "embedded".to_owned(), slots, timing, timer };
                let worker = Worker::new(config, resources);
                Some(tokio::spawn(worker.run(transport.clone(), drain_worker.clone())))
            }
        };
        let mut client = client::of(transport.clone());
        client.is_idle = worker.is_none();
        Ok(Self { client, transport, worker, coordinator, store, reserve, drain_worker, drain_coordinator })
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A second client. It holds the store, so it must not outlive [`Embedded::stop`].
    pub(crate) fn second_client(&self) -> Client {
        client::of(self.transport.clone())
    }

    /// A handle that makes the worker release its running trials at once.
    pub(crate) fn hurry(&self) -> impl Fn() + use<> {
        let drain = self.drain_worker.clone();
        move || {
            drain.begin.cancel();
            drain.hurry.cancel();
        }
    }

    pub(crate) async fn submit(
        &mut self,
        run: &RunId,
        plan: &Plan,
        preflight: Spend,
        max_cost: Option<Usd>,
    ) -> anyhow::Result<()> {
        client::submit(&mut self.client, run, plan, (preflight, max_cost), Patience::NONE).await
    }

    /// Releases the descriptors that were reserved for the report.
    pub(crate) fn make_room(&mut self) {
        self.reserve = None;
    }

    /// Whether the run's store is gone.
    pub(crate) async fn is_gone(&self) -> bool {
        matches!(self.store.check().await, Err(store::Error::Gone(_)))
    }

    /// Lets the worker finish its trials, then stops the coordinator.
    pub(crate) async fn stop(self) {
        self.drain_worker.begin.cancel();
        if let Some(worker) = self.worker {
            match worker.await {
                Ok(Err(error)) => tracing::warn!(%error, "the worker ended badly"),
                Err(error) => tracing::warn!(%error, "the worker ended badly"),
                Ok(Ok(())) => {}
            }
        }
        self.drain_coordinator.cancel();
        drop((self.client, self.transport));
        let _ = self.coordinator.await;
        // The task of a stream may still hold the store; then the next process that opens it cleans up.
        if let Ok(store) = Arc::try_unwrap(self.store)
            && let Err(error) = store.close().await
        {
            tracing::warn!(%error, "failed to close the store");
        }
    }
}
