//! Coordinator and worker in this process: the same two, with pipes for sockets. This file is the whole difference.

use std::{io, path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use coordinator::{Clock, Config, Coordinator, Observers, Reclaim};
use hyper_util::rt::TokioIo;
use listen::descriptors::Reserve;
use record::{Usd, call::Spend};
use scenario::{Plan, RunId};
use store::{Sqlite, Store as _};
use tokio::{io::DuplexStream, sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
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
/// Of a pipe, in each direction.
const PIPE_BYTES: usize = 1 << 20;
/// Descriptors for the files of a report and for the connections to the store that read it.
const RESERVE: usize = 32;

pub(crate) struct Embedded {
    client: Client,
    channel: Channel,
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
        let (pipes, incoming) = mpsc::channel::<io::Result<DuplexStream>>(4);
        let drain_coordinator = CancellationToken::new();
        let drained = drain_coordinator.clone();
        let router = coordinator::service::router(handle, coordinator::Gate::Open)
            .await
            .context("failed to start the services")?;
        let served =
            router.serve_with_incoming_shutdown(ReceiverStream::new(incoming), drained.clone().cancelled_owned());
        let coordinator = tokio::spawn(async move {
            let (served, ()) = tokio::join!(served, coordinator.run(drained));
            if let Err(error) = served {
                tracing::warn!(%error, "failed to serve in this process");
            }
        });
        let drain_worker = worker::Drain::default();
        let worker = match worker {
            None => None,
            Some((resources, slots)) => {
                store_threads::give_way();
                let (timing, timer) = (worker::Timing::default(), Timer::Precise);
                let config = worker::Config { name: "embedded".to_owned(), slots, timing, timer };
                let worker = Worker::new(config, resources);
                Some(tokio::spawn(worker.run(channel(pipes.clone()), drain_worker.clone())))
            }
        };
        let channel = channel(pipes);
        let mut client = client::of(channel.clone());
        client.is_idle = worker.is_none();
        Ok(Self { client, channel, worker, coordinator, store, reserve, drain_worker, drain_coordinator })
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A second client.
    pub(crate) fn second_client(&self) -> Client {
        client::of(self.channel.clone())
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
        drop((self.client, self.channel));
        let _ = self.coordinator.await;
        // A closing connection may still hold the store; then the next process that opens it cleans up.
        if let Ok(store) = Arc::try_unwrap(self.store)
            && let Err(error) = store.close().await
        {
            tracing::warn!(%error, "failed to close the store");
        }
    }
}

/// A channel whose connections are pipes. Like a channel over sockets, it reconnects after a failure.
fn channel(pipes: mpsc::Sender<io::Result<DuplexStream>>) -> Channel {
    Endpoint::from_static("http://embedded").connect_with_connector_lazy(tower::service_fn(move |_: http::Uri| {
        let pipes = pipes.clone();
        async move {
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            pipes.send(Ok(theirs)).await.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            Ok::<_, io::Error>(TokioIo::new(ours))
        }
    }))
}
