//! A coordinator whose every word is the test's, over in-memory pipes that can be cut.

use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper_util::rt::TokioIo;
use proto::v1::{
    self, coordinator_message::Body as Order, coordinator_server::CoordinatorServer, worker_message::Body as Word,
};
use scenario::Plan;
use tokio::{
    io::DuplexStream,
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, Streaming, transport::Channel};

/// How the coordinator's address behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    There,
    /// Connections are refused.
    Refusing,
    /// Connections are neither made nor refused.
    Hanging,
    /// It answers, and refuses this worker.
    Rejecting,
}

pub(super) struct Coordinator {
    pub(super) presence: watch::Sender<Presence>,
    pub(super) joins: Arc<AtomicU64>,
    pub(super) plans: Plans,
    lines: mpsc::Receiver<Line>,
    pipes: mpsc::Sender<io::Result<DuplexStream>>,
}

type Plans = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

impl Coordinator {
    pub(super) fn new(plan: &Plan) -> Self {
        let (presence, present) = watch::channel(Presence::There);
        let (new_lines, lines) = mpsc::channel(4);
        let (pipes, incoming) = mpsc::channel(4);
        let joins = Arc::new(AtomicU64::new(0));
        let plans = BTreeMap::from([(plan.digest().as_str().to_owned(), plan.to_json().into_bytes())]);
        let plans: Plans = Arc::new(Mutex::new(plans));
        let server = Server { lines: new_lines, joins: Arc::clone(&joins), plans: Arc::clone(&plans), present };
        let router = tonic::transport::Server::builder().add_service(CoordinatorServer::new(server));
        tokio::spawn(router.serve_with_incoming(ReceiverStream::new(incoming)));
        Self { presence, joins, plans, lines, pipes }
    }

    pub(super) fn channel(&self) -> Channel {
        let (pipes, present) = (self.pipes.clone(), self.presence.subscribe());
        let connect = tower::service_fn(move |_: tonic::transport::Uri| {
            let (pipes, mut present) = (pipes.clone(), present.clone());
            async move {
                let presence =
                    *present.wait_for(|presence| *presence != Presence::Hanging).await.map_err(io::Error::other)?;
                if presence == Presence::Refusing {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let (ours, theirs) = tokio::io::duplex(1 << 20);
                pipes.send(Ok(cut_when_gone(theirs, present))).await.map_err(io::Error::other)?;
                Ok(TokioIo::new(ours))
            }
        });
        tonic::transport::Endpoint::from_static("http://coordinator").connect_with_connector_lazy(connect)
    }

    pub(super) fn joins(&self) -> u64 {
        self.joins.load(Ordering::Relaxed)
    }

    /// The next stream that the worker opens.
    pub(super) async fn line(&mut self) -> Line {
        timeout(Duration::from_secs(600), self.lines.recv()).await.expect("a stream in time").expect("a server")
    }
}

/// A pipe behind a pipe, which breaks when the coordinator is not there any more.
fn cut_when_gone(inner: DuplexStream, mut present: watch::Receiver<Presence>) -> DuplexStream {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let mut inner = inner;
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut inner, &mut far) => {}
            _ = present.wait_for(|presence| *presence != Presence::There && *presence != Presence::Rejecting) => {}
        }
    });
    near
}

/// One stream of the worker.
pub(super) struct Line {
    words: Streaming<v1::WorkerMessage>,
    orders: mpsc::Sender<Result<v1::CoordinatorMessage, Status>>,
    pub(super) hello: v1::Hello,
    /// Beats are answered, as by a coordinator in good health.
    pub(super) renews: bool,
    /// What the worker said last that it holds.
    pub(super) held: Vec<v1::Held>,
    /// All that it said has begun.
    pub(super) begun: Vec<v1::Held>,
}

impl Line {
    pub(super) async fn say(&self, order: Order) {
        self.orders.send(Ok(v1::CoordinatorMessage { body: Some(order) })).await.expect("the worker listens");
    }

    pub(super) async fn welcome(&self, acknowledged: u64) {
        self.say(Order::Welcome(v1::Welcome { acknowledged })).await;
    }

    pub(super) async fn acknowledge(&self, sequence: u64) {
        self.say(Order::Acknowledged(v1::Acknowledged { sequence })).await;
    }

    pub(super) async fn grant(&self, claim: u64, leases: Vec<v1::Lease>) {
        self.say(Order::Grant(v1::Grant { claim, leases, retry_millis: 200 })).await;
    }

    /// The next word besides beats, which are answered, and what has begun; `None` when the worker hung up.
    pub(super) async fn hear(&mut self) -> Option<Word> {
        loop {
            match self.hear_any().await? {
                Word::Beat(_) => {}
                Word::Begun(begun) => self.begun.extend(begun.trials),
                word => return Some(word),
            }
        }
    }

    pub(super) async fn hear_any(&mut self) -> Option<Word> {
        let word = timeout(Duration::from_secs(600), self.words.message()).await.expect("a word in time");
        let word = word.ok()??.body?;
        if let Word::Beat(beat) = &word {
            self.held.clone_from(&beat.held);
            if self.renews {
                self.say(Order::Renewed(v1::Renewed { ttl_millis: 30_000 })).await;
            }
        }
        Some(word)
    }

    pub(super) async fn claim(&mut self) -> v1::Claim {
        match self.hear().await {
            Some(Word::Claim(claim)) => claim,
            other => panic!("expected a claim: {other:?}"),
        }
    }

    pub(super) async fn batch(&mut self) -> v1::Batch {
        match self.hear_but_claims().await {
            Some(Word::Batch(batch)) => batch,
            other => panic!("expected a batch: {other:?}"),
        }
    }

    pub(super) async fn released(&mut self) -> Vec<v1::Held> {
        match self.hear_but_claims().await {
            Some(Word::Release(release)) => release.trials,
            other => panic!("expected a release: {other:?}"),
        }
    }

    /// What it says in the next minutes besides claims, which are not answered.
    async fn hear_but_claims(&mut self) -> Option<Word> {
        let word = async {
            loop {
                match self.hear().await? {
                    Word::Claim(_) => {}
                    word => return Some(word),
                }
            }
        };
        timeout(Duration::from_secs(600), word).await.expect("nothing but claims and beats")
    }

    /// Acknowledges whatever comes, until so many trials have ended.
    pub(super) async fn until_ended(&mut self, trials: usize) -> Vec<v1::Trial> {
        let mut ended = Vec::new();
        while ended.len() < trials {
            let batch = self.batch().await;
            self.acknowledge(batch.sequence).await;
            ended.extend(batch.ended);
        }
        ended
    }

    /// Hears everything for so long, and returns it without the beats.
    pub(super) async fn listen(&mut self, time: Duration) -> Vec<Word> {
        let mut heard = Vec::new();
        let _ = timeout(time, async {
            while let Some(word) = self.hear().await {
                heard.push(word);
            }
        })
        .await;
        heard
    }
}

struct Server {
    lines: mpsc::Sender<Line>,
    joins: Arc<AtomicU64>,
    plans: Plans,
    present: watch::Receiver<Presence>,
}

#[tonic::async_trait]
impl v1::coordinator_server::Coordinator for Server {
    type WorkStream = Pin<Box<dyn Stream<Item = Result<v1::CoordinatorMessage, Status>> + Send>>;

    async fn join(&self, request: Request<v1::JoinRequest>) -> Result<Response<v1::JoinReply>, Status> {
        let request = request.into_inner();
        assert_eq!((request.worker.as_str(), request.protocol), ("w1", proto::PROTOCOL));
        if *self.present.borrow() == Presence::Rejecting {
            return Err(Status::failed_precondition("another protocol"));
        }
        let session = self.joins.fetch_add(1, Ordering::Relaxed) + 1;
        let token = format!("secret of {session}").into_bytes().into();
        Ok(Response::new(v1::JoinReply { session, ttl_millis: 30_000, beat_millis: 2_000, token }))
    }

    async fn work(&self, request: Request<Streaming<v1::WorkerMessage>>) -> Result<Response<Self::WorkStream>, Status> {
        let mut words = request.into_inner();
        let (orders, outbound) = mpsc::channel(64);
        let lines = self.lines.clone();
        tokio::spawn(async move {
            if let Ok(Some(v1::WorkerMessage { body: Some(Word::Hello(hello)) })) = words.message().await {
                assert_eq!(hello.agents, ["mock"]);
                assert_eq!(hello.token, format!("secret of {}", hello.session));
                let _ =
                    lines.send(Line { words, orders, hello, renews: true, held: Vec::new(), begun: Vec::new() }).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outbound))))
    }

    async fn get_plan(&self, request: Request<v1::GetPlanRequest>) -> Result<Response<v1::GetPlanReply>, Status> {
        let digest = request.into_inner().digest;
        let plan = self.plans.lock().unwrap().get(&digest).cloned();
        match plan {
            // An empty plan stands for a coordinator that does not answer.
            Some(plan) if plan.is_empty() => std::future::pending().await,
            Some(plan) => Ok(Response::new(v1::GetPlanReply { plan: plan.into() })),
            None => Err(Status::not_found("no such plan")),
        }
    }
}
