//! A coordinator that is served over an in-memory pipe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use coordinator::{Clock, Config, Coordinator, Gate, Handle, Observers, service};
use hyper_util::rt::TokioIo;
use proto::v1::{self, RunState, coordinator_client::CoordinatorClient, runs_client::RunsClient};
use record::Summary;
use scenario::Plan;
use store::Store;
use tokio::{io::DuplexStream, sync::mpsc, task::JoinHandle};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};

/// Unix milliseconds of 2026-11-21T03:00:00Z, when runs of tests begin.
pub(crate) const STARTED_AT: i64 = 1_795_230_000_000;

type Pipes = mpsc::Sender<Result<DuplexStream, std::io::Error>>;

pub(crate) struct Served<S> {
    pub(crate) store: Arc<S>,
    pub(crate) handle: Handle<S>,
    pub(crate) channel: Channel,
    pub(crate) workers: CoordinatorClient<Channel>,
    pub(crate) people: RunsClient<Channel>,
    pipes: Pipes,
    drain: CancellationToken,
    coordinator: JoinHandle<()>,
    server: JoinHandle<()>,
}

impl<S: Store> Served<S> {
    pub(crate) async fn new(store: Arc<S>, config: Config) -> Self {
        Self::new_at(store, config, STARTED_AT).await
    }

    /// Starts with the wall clock at `at`, in unix milliseconds.
    pub(crate) async fn new_at(store: Arc<S>, config: Config, at: i64) -> Self {
        let wall = AtomicI64::new(at);
        let clock = Clock::new(move || wall.fetch_add(1, Ordering::Relaxed));
        let (coordinator, handle) =
            Coordinator::open(Arc::clone(&store), config, clock, Observers::default()).await.unwrap();
        let drain = CancellationToken::new();
        let router = service::server().add_routes(service::routes(handle.clone(), &Gate::Open));
        let (pipes, incoming) = mpsc::channel(1);
        let stop = drain.clone();
        let server = tokio::spawn(async move {
            let incoming = ReceiverStream::new(incoming);
            router.serve_with_incoming_shutdown(incoming, stop.cancelled_owned()).await.unwrap();
        });
        let channel = connect(&pipes).await;
        Self {
            store,
            handle,
            workers: CoordinatorClient::new(channel.clone()),
            people: RunsClient::new(channel.clone()),
            channel,
            pipes,
            coordinator: tokio::spawn(coordinator.run(drain.clone())),
            drain,
            server,
        }
    }

    /// Workers that join from now on use a new connection.
    pub(crate) async fn reconnect(&mut self) {
        self.workers = CoordinatorClient::new(connect(&self.pipes).await);
    }

    /// Shuts down cleanly.
    pub(crate) async fn drained(self) {
        self.drain.cancel();
        self.coordinator.await.unwrap();
        drop((self.channel, self.workers, self.people));
        self.server.await.unwrap();
    }

    /// Kills the process without a shutdown.
    pub(crate) fn killed(self) -> Arc<S> {
        self.coordinator.abort();
        self.server.abort();
        self.store
    }

    pub(crate) async fn submit(&mut self, run: &str, plan: &Plan) -> u64 {
        let request = v1::SubmitRequest {
            run: run.to_owned(),
            plan: plan.to_json().into_bytes().into(),
            submitted_at: STARTED_AT,
            version: "0.1.0".to_owned(),
            ..v1::SubmitRequest::default()
        };
        self.people.submit(request).await.unwrap().into_inner().planned
    }

    pub(crate) async fn cancel(&mut self, run: &str, drain: bool) -> RunState {
        let reply = self.people.cancel(v1::CancelRequest { run: run.to_owned(), drain }).await.unwrap();
        reply.into_inner().state()
    }

    pub(crate) async fn resume(&mut self, run: &str) -> v1::ResumeReply {
        self.people
            .resume(v1::ResumeRequest { run: run.to_owned(), failed: false, max_cost_nanos: None })
            .await
            .unwrap()
            .into_inner()
    }

    /// Every message until the run ends.
    pub(crate) async fn watch(&mut self, run: &str) -> Vec<v1::Progress> {
        let mut stream = self.people.watch(v1::WatchRequest { run: run.to_owned() }).await.unwrap().into_inner();
        let mut seen = Vec::new();
        while let Some(progress) = stream.message().await.unwrap() {
            seen.push(progress);
        }
        seen
    }

    /// How far it is now.
    pub(crate) async fn progress(&mut self, run: &str) -> v1::Progress {
        let mut stream = self.people.watch(v1::WatchRequest { run: run.to_owned() }).await.unwrap().into_inner();
        stream.message().await.unwrap().unwrap()
    }

    pub(crate) async fn summary(&mut self, run: &str) -> Summary {
        let reply = self.people.get_summary(v1::GetSummaryRequest { run: run.to_owned() }).await.unwrap();
        serde_json::from_slice(&reply.into_inner().summary).unwrap()
    }

    pub(crate) async fn export(&mut self, run: &str, first: u64) -> Vec<proto::ExportedTrial> {
        let request = v1::ExportRequest { run: run.to_owned(), first };
        let stream = self.people.export(request).await.unwrap().into_inner();
        stream.map(Result::unwrap).collect().await
    }
}

async fn connect(pipes: &Pipes) -> Channel {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    pipes.send(Ok(theirs)).await.unwrap();
    let mut pipe = Some(ours);
    let connector = tower::service_fn(move |_| {
        let pipe = pipe.take().map(TokioIo::new).ok_or_else(|| std::io::Error::other("one connection"));
        async move { pipe }
    });
    Endpoint::from_static("http://coordinator").connect_with_connector(connector).await.unwrap()
}

/// Lets the coordinator do everything that is due by then.
pub(crate) async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}
