//! A coordinator whose every message comes from the test, over in-memory pipes that can be cut.

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
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream},
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
    /// Connection attempts hang.
    Hanging,
    /// It answers, and refuses this worker.
    Rejecting,
}

pub(super) struct Coordinator {
    pub(super) presence: watch::Sender<Presence>,
    pub(super) joins: Arc<AtomicU64>,
    pub(super) plans: Plans,
    /// The speed of new connections, in each direction; without it, unlimited.
    pub(super) bytes_a_second: Arc<AtomicU64>,
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
        Self { presence, joins, plans, bytes_a_second: Arc::default(), lines, pipes }
    }

    pub(super) fn channel(&self) -> Channel {
        let (pipes, present) = (self.pipes.clone(), self.presence.subscribe());
        let bytes_a_second = Arc::clone(&self.bytes_a_second);
        let connect = tower::service_fn(move |_: tonic::transport::Uri| {
            let (pipes, mut present) = (pipes.clone(), present.clone());
            let rate = bytes_a_second.load(Ordering::Relaxed);
            async move {
                let presence =
                    *present.wait_for(|presence| *presence != Presence::Hanging).await.map_err(io::Error::other)?;
                if presence == Presence::Refusing {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let (ours, theirs) = tokio::io::duplex(1 << 20);
                pipes.send(Ok(cut_when_gone(slow(theirs, rate), present))).await.map_err(io::Error::other)?;
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

/// A pipe behind a pipe, which breaks when the coordinator goes away.
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

/// A pipe behind a pipe with a limited speed in each direction, in order.
fn slow(inner: DuplexStream, bytes_a_second: u64) -> DuplexStream {
    if bytes_a_second == 0 {
        return inner;
    }
    let (near, far) = tokio::io::duplex(1 << 20);
    let (inner_reads, inner_writes) = tokio::io::split(inner);
    let (far_reads, far_writes) = tokio::io::split(far);
    tokio::spawn(trickle(inner_reads, far_writes, bytes_a_second));
    tokio::spawn(trickle(far_reads, inner_writes, bytes_a_second));
    near
}

async fn trickle(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, bytes_a_second: u64) {
    let mut buffer = [0; 256];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        tokio::time::sleep(Duration::from_secs_f64(read as f64 / bytes_a_second as f64)).await;
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// One stream of the worker.
pub(super) struct Line {
    words: Streaming<v1::WorkerMessage>,
    orders: mpsc::Sender<Result<v1::CoordinatorMessage, Status>>,
    pub(super) hello: v1::Hello,
    /// Beats are answered, as by a coordinator in good health.
    pub(super) renews: bool,
    /// The trials that the worker listed last.
    pub(super) held: Vec<v1::Held>,
    /// All that it said has begun.
    pub(super) begun: Vec<v1::Held>,
    pub(super) heartbeats: u32,
    /// Bytes of batches.
    read: u64,
    parts: Vec<u8>,
}

impl Line {
    pub(super) async fn say(&self, order: Order) {
        self.orders.send(Ok(v1::CoordinatorMessage { body: Some(order) })).await.expect("the worker listens");
    }

    /// On a stream that the worker may have left.
    pub(super) async fn try_say(&self, order: Order) {
        let _ = self.orders.send(Ok(v1::CoordinatorMessage { body: Some(order) })).await;
    }

    pub(super) async fn welcome(&self, acknowledged: u64) {
        self.say(Order::Welcome(v1::Welcome { acknowledged, clock: None })).await;
    }

    pub(super) async fn acknowledge(&self, sequence: u64) {
        self.say(Order::Acknowledged(v1::Acknowledged { sequence })).await;
    }

    pub(super) async fn grant(&self, claim: u64, leases: Vec<v1::Lease>) {
        self.say(Order::Grant(v1::Grant { claim, leases, retry_millis: 200, clock: None })).await;
    }

    /// The next message other than heartbeats, which are answered, and begun trials; `None` when the worker hangs up.
    pub(super) async fn hear(&mut self) -> Option<Word> {
        loop {
            match self.hear_any().await? {
                Word::Beat(_) | Word::Part(_) => {}
                Word::Begun(begun) => self.begun.extend(begun.trials),
                word => return Some(word),
            }
        }
    }

    pub(super) async fn hear_any(&mut self) -> Option<Word> {
        let word = timeout(Duration::from_secs(600), self.words.message()).await.expect("a word in time");
        let word = self.whole(word.ok()??.body?).await?;
        if let Word::Beat(beat) = &word {
            if !beat.brief {
                self.held.clone_from(&beat.held);
            }
            self.heartbeats += 1;
            if self.renews {
                self.say(Order::Renewed(v1::Renewed { ttl_millis: 30_000, clock: None })).await;
            }
        }
        Some(word)
    }

    /// Joins the parts of a batch, and confirms the bytes that were read.
    async fn whole(&mut self, word: Word) -> Option<Word> {
        let word = match word {
            Word::Batch(batch) => {
                self.read += proto::size_of_batch(&batch) as u64;
                Word::Batch(batch)
            }
            Word::Part(part) => {
                self.read += part.data.len() as u64;
                self.parts.extend_from_slice(&part.data);
                match part.last {
                    true => Word::Batch(proto::batch_from_bytes(std::mem::take(&mut self.parts).into()).unwrap()),
                    false => Word::Part(part),
                }
            }
            other => return Some(other),
        };
        let _ = self
            .orders
            .send(Ok(v1::CoordinatorMessage { body: Some(Order::Received(v1::Received { bytes: self.read })) }))
            .await;
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

    /// The next message other than claims within some minutes. Claims are not answered.
    async fn hear_but_claims(&mut self) -> Option<Word> {
        let word = async {
            loop {
                match self.hear().await? {
                    Word::Claim(_) => {}
                    word => return Some(word),
                }
            }
        };
        timeout(Duration::from_secs(600), word).await.expect("nothing but claims and heartbeats")
    }

    /// Acknowledges everything until this many trials have ended.
    pub(super) async fn until_ended(&mut self, trials: usize) -> Vec<v1::Trial> {
        let mut ended = Vec::new();
        while ended.len() < trials {
            let batch = self.batch().await;
            self.acknowledge(batch.sequence).await;
            ended.extend(batch.ended);
        }
        ended
    }

    /// Returns everything that arrives in this time, without the heartbeats.
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
        Ok(Response::new(v1::JoinReply { session, ttl_millis: 30_000, beat_millis: 2_000, token, version: "0".into() }))
    }

    async fn work(&self, request: Request<Streaming<v1::WorkerMessage>>) -> Result<Response<Self::WorkStream>, Status> {
        let mut words = request.into_inner();
        let (orders, outbound) = mpsc::channel(64);
        let lines = self.lines.clone();
        tokio::spawn(async move {
            if let Ok(Some(v1::WorkerMessage { body: Some(Word::Hello(hello)) })) = words.message().await {
                assert_eq!(hello.agents, ["mock"]);
                assert_eq!(hello.token, format!("secret of {}", hello.session));
                let line = Line {
                    words,
                    orders,
                    hello,
                    renews: true,
                    held: Vec::new(),
                    begun: Vec::new(),
                    heartbeats: 0,
                    read: 0,
                    parts: Vec::new(),
                };
                let _ = lines.send(line).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outbound))))
    }

    async fn get_plan(&self, request: Request<v1::GetPlanRequest>) -> Result<Response<v1::GetPlanReply>, Status> {
        let digest = request.into_inner().digest;
        let plan = self.plans.lock().unwrap().get(&digest).cloned();
        match plan {
            // An empty plan simulates a coordinator that does not answer.
            Some(plan) if plan.is_empty() => std::future::pending().await,
            Some(plan) => Ok(Response::new(v1::GetPlanReply { plan: plan.into() })),
            None => Err(Status::not_found("no such plan")),
        }
    }
}
