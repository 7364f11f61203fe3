//! A coordinator with its store, and the workers that are hired for it.

use std::{
    io,
    num::NonZeroU64,
    sync::{Arc, Mutex},
    time::Duration,
};

use coordinator::{Clock, Config, Coordinator, Gate, Observers, service};
use hyper_util::rt::TokioIo;
use llm::{
    Chat,
    chat::{Reply, Request},
    endpoint::{Endpoint, Layers, Retries},
    limit::{self, Limiter},
    retry::Policy,
};
use proto::v1::{self, runs_client::RunsClient};
use record::{Summary, Trial};
use scenario::Plan;
use serde_json::{Value, json};
use store::Memory;
use tokio::{io::DuplexStream, sync::mpsc, task::JoinHandle, time::Instant};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use worker::{Timing, Worker, pacer::Timer};

pub(super) use self::staff::plan;

#[path = "../../support/staff.rs"]
mod staff;

/// 2026-11-21T03:00:00Z
const STARTED_AT: i64 = 1_795_230_000_000;
const PIPE_BYTES: usize = 1 << 20;

pub(super) struct House {
    store: Arc<Memory>,
    clock: Clock,
    pipes: Pipes,
    people: RunsClient<Channel>,
    drain: CancellationToken,
    coordinator: JoinHandle<()>,
    runs: u32,
}

/// To the coordinator that is there now.
type Pipes = Arc<Mutex<mpsc::Sender<io::Result<DuplexStream>>>>;

impl House {
    pub(super) async fn open() -> Self {
        Self::open_at(STARTED_AT).await
    }

    /// At another time, in Unix milliseconds.
    pub(super) async fn open_at(started_at: i64) -> Self {
        let store = Arc::new(Memory::new());
        let began = Instant::now();
        let clock = Clock::new(move || started_at + i64::try_from(began.elapsed().as_millis()).unwrap());
        let drain = CancellationToken::new();
        let (coordinator, pipes) = serve(Arc::clone(&store), clock.clone(), drain.clone()).await;
        let pipes = Arc::new(Mutex::new(pipes));
        let people = RunsClient::new(channel(Arc::clone(&pipes)));
        Self { store, clock, pipes, people, drain, coordinator, runs: 0 }
    }

    /// The coordinator is killed, and another one opens its store.
    pub(super) async fn restart(&mut self) {
        self.coordinator.abort();
        assert!((&mut self.coordinator).await.unwrap_err().is_cancelled());
        let (coordinator, pipes) = serve(Arc::clone(&self.store), self.clock.clone(), self.drain.clone()).await;
        self.coordinator = coordinator;
        *self.pipes.lock().unwrap() = pipes;
        self.people = RunsClient::new(channel(Arc::clone(&self.pipes)));
    }

    /// A worker with agent, user and judge behind one endpoint.
    pub(super) fn hire(&self, endpoint: &llm::endpoint::Settings, slots: u32) -> Hired {
        let endpoint = Arc::new(Endpoint::open("mock", endpoint).unwrap());
        let asked = endpoint.chat(Policy::agent());
        let limits = vec![Arc::clone(endpoint.limit())];
        self.hire_with(&endpoint, asked, limits, slots)
    }

    /// A worker whose agent records when it is called; it answers after a second.
    pub(super) fn hire_counted(&self, limits: &limit::Settings, slots: u32, asked: &Asked) -> Hired {
        let mock: llm::endpoint::Settings = serde_json::from_value(json!({ "kind": "mock" })).unwrap();
        let mock = Arc::new(Endpoint::open("mock", &mock).unwrap());
        let layers = Layers::new("agent mock", limits, Duration::from_secs(60), Retries::default());
        let agent = Arc::new(layers.wrap(asked.clone()));
        self.hire_with(&mock, agent, vec![Arc::clone(layers.limit())], slots)
    }

    /// A worker whose judge is behind an endpoint of its own, records when it is called, and fails as `asked` does.
    pub(super) fn hire_judged(&self, slots: u32, asked: &Asked) -> Hired {
        let mock: llm::endpoint::Settings = serde_json::from_value(json!({ "kind": "mock" })).unwrap();
        let mock = Arc::new(Endpoint::open("mock", &mock).unwrap());
        let layers = Layers::new("judge", &Default::default(), Duration::from_secs(60), Retries::default());
        let limits = vec![Arc::clone(mock.limit()), Arc::clone(layers.limit())];
        let mut resources = staff::resources(&mock, mock.chat(Policy::agent()), limits);
        let judge = Judge { asked: asked.clone(), mock: mock.chat(Policy::model()) };
        resources.models.judge = Arc::new(layers.wrap(judge));
        self.hire_for(resources, slots)
    }

    fn hire_with(
        &self,
        endpoint: &Arc<Endpoint>,
        asked: Arc<dyn Chat>,
        limits: Vec<Arc<Limiter>>,
        slots: u32,
    ) -> Hired {
        self.hire_for(staff::resources(endpoint, asked, limits), slots)
    }

    fn hire_for(&self, resources: worker::Resources, slots: u32) -> Hired {
        let config =
            worker::Config { name: "hired".to_owned(), slots, timing: Timing::default(), timer: Timer::Runtime };
        let drain = CancellationToken::new();
        let task = tokio::spawn(Worker::new(config, resources).run(channel(Arc::clone(&self.pipes)), drain.clone()));
        Hired { task, drain }
    }

    pub(super) async fn submit(&mut self, plan: &Plan) -> String {
        self.submit_with(plan, None).await
    }

    /// With the most that the run may cost, in nano-dollars.
    pub(super) async fn submit_with(&mut self, plan: &Plan, max_cost_nanos: Option<i64>) -> String {
        self.runs += 1;
        let run = format!("20261121-030000-{:04}", self.runs);
        let request = v1::SubmitRequest {
            run: run.clone(),
            plan: plan.to_json().into_bytes().into(),
            submitted_at: STARTED_AT,
            version: "0.1.0".to_owned(),
            max_cost_nanos,
            ..v1::SubmitRequest::default()
        };
        let planned = self.people.submit(request).await.unwrap().into_inner().planned;
        assert_eq!(planned, plan.planned().unwrap_or(0));
        run
    }

    /// Waits until the run ends, and returns the last of its progress.
    pub(super) async fn followed(&mut self, run: &str) -> v1::Progress {
        let request = v1::WatchRequest { run: run.to_owned() };
        let mut updates = self.people.watch(request).await.unwrap().into_inner();
        let mut last = None;
        while let Some(progress) = updates.message().await.unwrap() {
            last = Some(progress);
        }
        last.expect("the first comes at once")
    }

    pub(super) async fn cancel(&mut self, run: &str, drain: bool) {
        self.people.cancel(v1::CancelRequest { run: run.to_owned(), drain }).await.unwrap();
    }

    pub(super) async fn resume(&mut self, run: &str) {
        self.resume_with(run, None).await;
    }

    /// With a larger budget, in nano-dollars.
    pub(super) async fn resume_with(&mut self, run: &str, max_cost_nanos: Option<i64>) {
        let request = v1::ResumeRequest { run: run.to_owned(), failed: false, max_cost_nanos };
        self.people.resume(request).await.unwrap();
    }

    pub(super) async fn summary(&mut self, run: &str) -> Summary {
        let reply = self.people.get_summary(v1::GetSummaryRequest { run: run.to_owned() }).await.unwrap();
        serde_json::from_slice(&reply.into_inner().summary).unwrap()
    }

    /// Everything that must not depend on how the run was played: each trial's verdict view and turns.
    pub(super) async fn view(&mut self, run: &str) -> Vec<Value> {
        let request = v1::ExportRequest { run: run.to_owned(), first: 0 };
        let mut trials = self.people.export(request).await.unwrap().into_inner();
        let mut view = Vec::new();
        while let Some(exported) = trials.next().await {
            view.push(staff::seen(exported.unwrap()).1);
        }
        view
    }

    /// Every trial that ended, by number.
    pub(super) async fn trials(&mut self, run: &str) -> Vec<Trial> {
        self.kept(run).await.into_iter().map(|(trial, _)| trial).collect()
    }

    /// Every trial that ended, by number, and how many of its turns are kept.
    pub(super) async fn kept(&mut self, run: &str) -> Vec<(Trial, usize)> {
        let request = v1::ExportRequest { run: run.to_owned(), first: 0 };
        let mut trials = self.people.export(request).await.unwrap().into_inner();
        let mut all = Vec::new();
        while let Some(exported) = trials.next().await {
            let proto::ExportedTrial { trial, turns, unreadable } = exported.unwrap();
            assert_eq!(unreadable, "");
            all.push((proto::trial::from_wire(trial.unwrap()).unwrap(), turns.len()));
        }
        all
    }

    pub(super) async fn close(self) {
        self.drain.cancel();
        drop(self.people);
        self.coordinator.await.unwrap();
    }
}

/// An agent's own count: when it was called, and how many calls ran at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    times: Arc<Mutex<Vec<Instant>>>,
    in_flight: Arc<Mutex<(usize, usize)>>,
    /// It answers at once, but for so long after its first call nothing; `None`: each answer takes a second.
    frozen: Option<Duration>,
    /// How a call fails at once.
    fails: Option<Failing>,
    /// The limit of requests a minute that its answers name.
    names: Option<NonZeroU64>,
}

/// The error of a call, by its number, from 0, and the time since the first one.
type Failing = fn(usize, Duration) -> Option<llm::Error>;

impl Asked {
    pub(super) fn failing(fails: Failing) -> Self {
        Self { fails: Some(fails), ..Self::default() }
    }

    /// The same agent, with answers that name its limit.
    pub(super) fn naming(&self, requests_per_minute: u64) -> Self {
        Self { names: NonZeroU64::new(requests_per_minute), ..self.clone() }
    }

    pub(super) fn frozen_for(time: Duration) -> Self {
        Self { frozen: Some(time), ..Self::default() }
    }

    pub(super) fn times(&self) -> Vec<Instant> {
        self.times.lock().unwrap().clone()
    }

    /// In the minute that saw the most.
    pub(super) fn most_in_a_minute(&self) -> usize {
        let times = self.times();
        let minute = Duration::from_secs(60);
        let within = |first: &Instant| times.iter().filter(|at| (*first..*first + minute).contains(at)).count();
        times.iter().map(within).max().unwrap_or(0)
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.in_flight.lock().unwrap().1
    }
}

/// Also when it is dropped half way.
struct InFlight<'a>(&'a Asked);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.lock().unwrap().0 -= 1;
    }
}

impl llm::Named for Asked {
    fn endpoint(&self) -> &str {
        "counted"
    }
}

#[async_trait::async_trait]
impl llm::Call<llm::chat::Request> for Asked {
    async fn ask(&self, _: &Request) -> Result<Reply, llm::Error> {
        let number = {
            let mut times = self.times.lock().unwrap();
            times.push(Instant::now());
            times.len() - 1
        };
        {
            let mut in_flight = self.in_flight.lock().unwrap();
            in_flight.0 += 1;
            in_flight.1 = in_flight.1.max(in_flight.0);
        }
        let _in_flight = InFlight(self);
        let first = self.times.lock().unwrap()[0];
        if let Some(error) = self.fails.and_then(|fails| fails(number, first.elapsed())) {
            return Err(error);
        }
        match self.frozen {
            None => tokio::time::sleep(Duration::from_secs(1)).await,
            Some(time) => tokio::time::sleep_until(first + time).await,
        }
        let mut reply = Reply { text: "hello".to_owned(), ..Reply::default() };
        reply.receipt.windows.requests = self.names.map(llm::Window::Minute);
        Ok(reply)
    }
}

/// A judge that answers as the mock does, after a second, and is counted.
#[derive(Debug)]
struct Judge {
    asked: Asked,
    mock: Arc<dyn Chat>,
}

impl llm::Named for Judge {
    fn endpoint(&self) -> &str {
        "judge"
    }
}

#[async_trait::async_trait]
impl llm::Call<llm::chat::Request> for Judge {
    async fn ask(&self, request: &Request) -> Result<Reply, llm::Error> {
        self.asked.ask(request).await?;
        self.mock.ask(request).await
    }
}

pub(super) struct Hired {
    task: JoinHandle<Result<(), worker::Error>>,
    drain: CancellationToken,
}

impl Hired {
    /// Finishes its trials and exits.
    pub(super) async fn drained(self) {
        self.drain.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Killed in the middle of a message, with its connection.
    pub(super) fn killed(self) {
        self.task.abort();
    }
}

async fn serve(
    store: Arc<Memory>,
    clock: Clock,
    drain: CancellationToken,
) -> (JoinHandle<()>, mpsc::Sender<io::Result<DuplexStream>>) {
    let (coordinator, handle) = Coordinator::open(store, Config::default(), clock, Observers::default()).await.unwrap();
    let (pipes, incoming) = mpsc::channel(4);
    let router = service::server().add_routes(service::routes(handle, &Gate::Open));
    let served = router.serve_with_incoming_shutdown(ReceiverStream::new(incoming), drain.clone().cancelled_owned());
    let task = tokio::spawn(async move {
        let (served, ()) = tokio::join!(served, coordinator.run(drain));
        served.unwrap();
    });
    (task, pipes)
}

/// A channel whose connections are pipes.
fn channel(pipes: Pipes) -> Channel {
    let connect = tower::service_fn(move |_: http::Uri| {
        let pipes = pipes.lock().unwrap().clone();
        async move {
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            pipes.send(Ok(theirs)).await.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            Ok::<_, io::Error>(TokioIo::new(ours))
        }
    });
    tonic::transport::Endpoint::from_static("http://house").connect_with_connector_lazy(connect)
}
