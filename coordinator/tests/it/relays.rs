//! Several coordinators: one is in charge, and the others pass calls on to it, with who makes them.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use coordinator::{
    Clock, Config, Coordinator, Elsewhere, Gate, Handle, Observers, Visitor,
    service::{self, Front, Place, Switch},
};
use hyper_util::rt::TokioIo;
use pki::{Authority, Caller, Identity, Peer, Role};
use proto::v1::{
    self, certificates_client::CertificatesClient, coordinator_client::CoordinatorClient,
    coordinator_message::Body as Order, runs_client::RunsClient, worker_message::Body as Word,
};
use store::Memory;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::mpsc,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::{
    Code, Request, Status,
    metadata::BinaryMetadataValue,
    transport::{Channel, Endpoint, server::Connected},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::{plans::plan, served::STARTED_AT};

/// A connection from somebody, which breaks with its coordinator.
struct Wire(DuplexStream, Visitor, Pin<Box<WaitForCancellationFutureOwned>>);

impl Connected for Wire {
    type ConnectInfo = Visitor;

    fn connect_info(&self) -> Visitor {
        self.1.clone()
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.2.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

fn known(role: Role, name: &str) -> Peer {
    let identity = Identity { id: format!("id of {name}"), name: name.to_owned(), role };
    Peer::Known(Caller { identity, expires_at: STARTED_AT / 1_000 + 3_600 })
}

/// One coordinator, with the way to it.
#[derive(Clone)]
struct One {
    switch: Switch,
    wires: mpsc::UnboundedSender<Result<Wire, io::Error>>,
    stop: CancellationToken,
}

impl One {
    async fn new(gate: &Gate) -> Self {
        let (front, switch) = Front::new(gate.clone(), Clock::new(|| STARTED_AT)).await.unwrap();
        let (wires, mut incoming) = mpsc::unbounded_channel();
        let incoming = futures_util::stream::poll_fn(move |cx| incoming.poll_recv(cx));
        let served = service::server().serve_with_incoming_shutdown(front, incoming, std::future::pending());
        tokio::spawn(served);
        Self { switch, wires, stop: CancellationToken::new() }
    }

    /// A channel of somebody, which connects again whenever it must.
    fn channel(&self, peer: Peer) -> Channel {
        let (wires, stop, visitor) = (self.wires.clone(), self.stop.clone(), move || Visitor::new(None, peer.clone()));
        let connector = tower::service_fn(move |_| {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            let stopped = Box::pin(stop.clone().cancelled_owned());
            let sent = match stop.is_cancelled() {
                true => Err(()),
                false => wires.send(Ok(Wire(theirs, visitor(), stopped))).map_err(drop),
            };
            async move { sent.map(|()| TokioIo::new(ours)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused)) }
        });
        Endpoint::from_static("http://coordinator").connect_with_connector_lazy(connector)
    }

    /// Lets it relay to another one, as a coordinator.
    fn follow(&self, other: &Self) {
        let other = other.clone();
        let there = Elsewhere::new("http://other", move || other.channel(known(Role::Coordinator, "follower")));
        self.switch.set(Place::Elsewhere(Arc::new(there)));
    }
}

struct Fleet {
    _place: tempfile::TempDir,
    gate: Gate,
    holder: One,
    follower: One,
    store: Arc<Memory>,
    _handle: Handle<Memory>,
}

impl Fleet {
    async fn new(certificates: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let gate = match certificates {
            true => Gate::Certificates(Arc::new(Authority::create(place.path(), &[], "tester", STARTED_AT).unwrap())),
            false => Gate::Open,
        };
        let (holder, follower) = (One::new(&gate).await, One::new(&gate).await);
        let store = Arc::new(Memory::new());
        let handle = in_charge(&holder, &gate, Arc::clone(&store)).await;
        follower.follow(&holder);
        Self { _place: place, gate, holder, follower, store, _handle: handle }
    }
}

async fn in_charge(one: &One, gate: &Gate, store: Arc<Memory>) -> Handle<Memory> {
    let clock = Clock::new(|| STARTED_AT);
    let (coordinator, handle) = Coordinator::open(store, Config::default(), clock, Observers::default()).await.unwrap();
    tokio::spawn(coordinator.run(CancellationToken::new()));
    one.switch.set(Place::Here(service::routes(handle.clone(), gate)));
    one.switch.set_ready(true).await;
    handle
}

async fn join(channel: &Channel) -> Result<v1::JoinReply, Status> {
    let asked = v1::JoinRequest { worker: "w".into(), slots: 1, version: "0".into(), protocol: proto::PROTOCOL };
    CoordinatorClient::new(channel.clone()).join(asked).await.map(tonic::Response::into_inner)
}

struct Stream {
    words: mpsc::Sender<v1::WorkerMessage>,
    orders: tonic::Streaming<v1::CoordinatorMessage>,
}

impl Stream {
    async fn open(channel: &Channel, joined: &v1::JoinReply) -> Self {
        let (words, outbound) = mpsc::channel(8);
        let hello = v1::Hello {
            session: joined.session,
            token: joined.token.clone(),
            agents: vec!["mock".to_owned()],
            slots: 1,
            protocol: proto::PROTOCOL,
            ..v1::Hello::default()
        };
        words.send(v1::WorkerMessage { body: Some(Word::Hello(hello)) }).await.unwrap();
        let orders = CoordinatorClient::new(channel.clone()).work(ReceiverStream::new(outbound)).await.unwrap();
        Self { words, orders: orders.into_inner() }
    }

    async fn hear(&mut self) -> Result<Option<Order>, Status> {
        let message = tokio::time::timeout(Duration::from_secs(5), self.orders.message()).await.unwrap()?;
        Ok(message.map(|message| message.body.unwrap()))
    }
}

async fn submit(channel: &Channel, run: &str) -> Result<u64, Status> {
    let plan = plan(1, 3).to_json().into_bytes().into();
    let request = v1::SubmitRequest { run: run.to_owned(), plan, ..v1::SubmitRequest::default() };
    RunsClient::new(channel.clone()).submit(request).await.map(|reply| reply.into_inner().planned)
}

#[tokio::test]
async fn workers_and_people_may_come_to_any_coordinator() {
    let fleet = Fleet::new(false).await;
    let (there, here) = (fleet.follower.channel(Peer::Unknown), fleet.holder.channel(Peer::Unknown));
    assert_eq!(submit(&there, "r1").await.unwrap(), 3);
    assert_eq!(submit(&here, "r1").await.unwrap(), 3, "the same run");
    let joined = join(&there).await.unwrap();
    let mut stream = Stream::open(&there, &joined).await;
    assert!(matches!(stream.hear().await, Ok(Some(Order::Welcome(_)))));
    let claim = Word::Claim(v1::Claim { number: 1, want: 2, idle: 2, ahead: 0 });
    stream.words.send(v1::WorkerMessage { body: Some(claim) }).await.unwrap();
    let granted = loop {
        match stream.hear().await.unwrap().unwrap() {
            Order::Grant(grant) => break grant.leases,
            Order::Share(_) | Order::Received(_) | Order::Renewed(_) => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(!granted.is_empty());
    let mut watched = RunsClient::new(there.clone()).watch(v1::WatchRequest { run: "r1".to_owned() }).await.unwrap();
    while watched.get_mut().message().await.unwrap().unwrap().workers != 1 {}
    // The session goes on at another coordinator.
    let mut stream = Stream::open(&here, &joined).await;
    assert!(matches!(stream.hear().await, Ok(Some(Order::Welcome(_)))));
    // A refusal of the one in charge arrives as it is.
    let unknown = RunsClient::new(there).watch(v1::WatchRequest { run: "r9".to_owned() }).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.message()), (Code::NotFound, "run r9 is unknown"));
}

#[tokio::test]
async fn a_lost_coordinator_ends_calls_with_a_status_and_the_next_one_continues_the_session() {
    let fleet = Fleet::new(false).await;
    let channel = fleet.follower.channel(Peer::Unknown);
    let joined = join(&channel).await.unwrap();
    let mut stream = Stream::open(&channel, &joined).await;
    assert!(matches!(stream.hear().await, Ok(Some(Order::Welcome(_)))));
    // Killed: its connections end without a word.
    fleet.holder.stop.cancel();
    let lost = loop {
        match stream.hear().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended as if the coordinator had ended it"),
            Err(status) => break status,
        }
    };
    let says = "the coordinator in charge, at http://other, does not answer";
    assert_eq!((lost.code(), lost.message()), (Code::Unavailable, says));
    let lost = join(&channel).await.unwrap_err();
    assert_eq!((lost.code(), lost.message()), (Code::Unavailable, says));
    fleet.follower.switch.set(Place::Nowhere("nobody is in charge".to_owned()));
    assert_eq!(join(&channel).await.unwrap_err().message(), "nobody is in charge");

    // It takes over. The connection stays.
    let _handle = in_charge(&fleet.follower, &fleet.gate, Arc::clone(&fleet.store)).await;
    let mut stream = Stream::open(&channel, &joined).await;
    assert!(matches!(stream.hear().await, Ok(Some(Order::Welcome(_)))));
}

async fn make_token(channel: Channel) -> pki::Token {
    let asked = v1::CreateTokenRequest { role: "view".to_owned(), ttl_seconds: 60 };
    let reply = CertificatesClient::new(channel).create_token(asked).await.unwrap();
    reply.into_inner().token.parse().unwrap()
}

async fn exchange(channel: Channel, token: &pki::Token) -> Result<pki::Credentials, Status> {
    let request = pki::Request::new().unwrap();
    let asked = v1::ExchangeRequest {
        secret: token.secret().to_vec().into(),
        request: request.bytes().to_vec().into(),
        name: "newcomer".to_owned(),
    };
    let reply = CertificatesClient::new(channel).exchange(asked).await?.into_inner();
    let authorities = reply.authorities.into_iter().map(Into::into).collect();
    Ok(request.answered(&pki::Issued { certificate: reply.certificate.into(), authorities }).unwrap())
}

#[tokio::test]
async fn a_token_is_good_once_at_whatever_coordinator_and_outlives_the_one_that_made_it() {
    let fleet = Fleet::new(true).await;
    let admin = fleet.follower.channel(known(Role::Admin, "a"));
    let stranger = |one: &One| one.channel(Peer::Unknown);
    let (first, second, third) =
        (make_token(admin.clone()).await, make_token(admin.clone()).await, make_token(admin).await);
    let joined = exchange(stranger(&fleet.follower), &first).await.unwrap();
    assert_eq!((joined.identity().role, joined.identity().name.as_str()), (Role::View, "newcomer"));

    // The one that made them is killed, and the other one takes over.
    fleet.holder.stop.cancel();
    let _handle = in_charge(&fleet.follower, &fleet.gate, Arc::clone(&fleet.store)).await;
    exchange(stranger(&fleet.follower), &second).await.unwrap();
    for used in [&first, &second] {
        let refused = exchange(stranger(&fleet.follower), used).await.unwrap_err();
        let says = "the join token was used already; a token is for one certificate";
        assert_eq!((refused.code(), refused.message()), (Code::Unauthenticated, says));
    }

    // Two get it at once, and each of them believes that it is in charge.
    let other = One::new(&fleet.gate).await;
    let _other = in_charge(&other, &fleet.gate, Arc::clone(&fleet.store)).await;
    let (here, there) = tokio::join!(exchange(stranger(&fleet.follower), &third), exchange(stranger(&other), &third));
    assert_ne!(here.is_ok(), there.is_ok());
    // A request that cannot be used leaves its token as it is.
    let fourth = make_token(other.channel(known(Role::Admin, "a"))).await;
    let asked = v1::ExchangeRequest { secret: fourth.secret().to_vec().into(), ..v1::ExchangeRequest::default() };
    let refused = CertificatesClient::new(stranger(&other)).exchange(asked).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    exchange(stranger(&other), &fourth).await.unwrap();
}

#[tokio::test]
async fn a_coordinator_that_hangs_is_left_when_another_takes_over() {
    let fleet = Fleet::new(false).await;
    let channel = fleet.follower.channel(Peer::Unknown);
    let joined = join(&channel).await.unwrap();
    let mut stream = Stream::open(&channel, &joined).await;
    assert!(matches!(stream.hear().await, Ok(Some(Order::Welcome(_)))));
    let other = One::new(&fleet.gate).await;
    fleet.follower.follow(&other);
    let left = loop {
        if let Err(status) = stream.hear().await {
            break status;
        }
    };
    assert_eq!(left.code(), Code::Unavailable);
    // That one is not in charge either: nothing is sent to and fro.
    other.follow(&fleet.follower);
    let refused = join(&channel).await.unwrap_err();
    assert_eq!(refused.message(), "the coordinator that was in charge no longer is");
}

#[tokio::test]
async fn the_holder_sees_who_makes_a_relayed_call() {
    let fleet = Fleet::new(true).await;
    let by = |role, name| fleet.follower.channel(known(role, name));
    let directly = |role, name| fleet.holder.channel(known(role, name));
    // Roles count as they do without a relay.
    assert!(submit(&by(Role::Submit, "nightly"), "r1").await.is_ok());
    let refused = submit(&by(Role::View, "viewer"), "r2").await.unwrap_err();
    assert_eq!(refused.message(), "the role view may not call Submit; it is for submit or admin");
    let refused = submit(&fleet.follower.channel(Peer::Unknown), "r2").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    // A session belongs to its certificate, wherever its worker comes from.
    let joined = join(&by(Role::Worker, "a")).await.unwrap();
    for (channel, is_its) in [
        (by(Role::Worker, "a"), true),
        (directly(Role::Worker, "a"), true),
        (by(Role::Worker, "b"), false),
        (directly(Role::Worker, "b"), false),
    ] {
        let heard = Stream::open(&channel, &joined).await.hear().await.unwrap().unwrap();
        match heard {
            Order::Welcome(_) => assert!(is_its),
            Order::Goodbye(goodbye) => {
                assert!(!is_its && goodbye.reason.contains("belongs to another worker"), "{}", goodbye.reason);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn claiming(role: &str) -> BinaryMetadataValue {
    let caller = v1::RelayedCaller {
        id: "id of a".to_owned(),
        name: "a".to_owned(),
        role: role.to_owned(),
        expires_at: i64::MAX / 2_000,
        ..v1::RelayedCaller::default()
    };
    BinaryMetadataValue::from_bytes(&proto::caller_to_bytes(&caller))
}

/// A call with what only a coordinator may say.
async fn list_as(channel: Channel, claims: &[BinaryMetadataValue]) -> Result<(), Status> {
    let mut request = Request::new(v1::ListRequest {});
    for claim in claims {
        request.metadata_mut().append_bin(proto::RELAYED_CALLER, claim.clone());
    }
    RunsClient::new(channel).list(request).await.map(drop)
}

#[tokio::test]
async fn only_a_coordinator_may_say_who_makes_a_call() {
    let fleet = Fleet::new(true).await;
    for one in [&fleet.holder, &fleet.follower] {
        for peer in [known(Role::Worker, "w"), known(Role::Admin, "a"), known(Role::Submit, "s"), Peer::Unknown] {
            for claimed in ["admin", "view", "coordinator"] {
                let refused = list_as(one.channel(peer.clone()), &[claiming(claimed)]).await.unwrap_err();
                let says = (refused.code(), refused.message());
                assert_eq!(says, (Code::PermissionDenied, "only a coordinator may say who makes a call"), "{peer:?}");
            }
        }
    }
    let coordinator = || fleet.holder.channel(known(Role::Coordinator, "c"));
    assert!(list_as(coordinator(), &[claiming("view")]).await.is_ok());
    let refused = list_as(coordinator(), &[claiming("worker")]).await.unwrap_err();
    assert!(refused.message().starts_with("the role worker may not call List"), "{refused}");
    // Nobody is a coordinator by word, and a coordinator makes no calls of its own.
    for strange in [claiming("coordinator"), claiming("king"), BinaryMetadataValue::from_bytes(b"\xff\xff")] {
        let refused = list_as(coordinator(), &[strange]).await.unwrap_err();
        assert_eq!(refused.message(), "the caller of a relayed call cannot be read");
    }
    let refused = list_as(coordinator(), &[]).await.unwrap_err();
    assert_eq!(refused.message(), "a coordinator makes calls for others only");
    let Gate::Certificates(authority) = &fleet.gate else { panic!("no authority") };
    authority.revoke("id of c").unwrap();
    assert_eq!(list_as(coordinator(), &[claiming("view")]).await.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn each_coordinator_answers_for_its_own_health() {
    let fleet = Fleet::new(false).await;
    let channel = fleet.follower.channel(Peer::Unknown);
    let check = async |service: &str| {
        let asked = HealthCheckRequest { service: service.to_owned() };
        HealthClient::new(channel.clone()).check(asked).await.unwrap().into_inner().status().as_str_name()
    };
    fleet.follower.switch.set(Place::Nowhere("nobody is in charge".to_owned()));
    for (ready, says) in [(false, "NOT_SERVING"), (true, "SERVING")] {
        fleet.follower.switch.set_ready(ready).await;
        for service in ["", "gabfest.v1.Coordinator", "gabfest.v1.Runs"] {
            assert_eq!(check(service).await, says);
        }
    }
}

#[tokio::test]
async fn each_coordinator_lists_its_services() {
    let fleet = Fleet::new(false).await;
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(fleet.follower.channel(Peer::Unknown));
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let Some(MessageResponse::ListServicesResponse(list)) = answers.message().await.unwrap().unwrap().message_response
    else {
        panic!("reflection lists services");
    };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["gabfest.v1.Coordinator", "gabfest.v1.Runs", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{names:?}");
    }
}
