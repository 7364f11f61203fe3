//! The service that workers call: join, work, and fetch the plans of their leases.

use std::{ops::Range, time::Duration};

use proto::{
    ended::Batch,
    v1::{self, coordinator_message as down, worker_message as up},
};
use record::{Usd, runner::Sample};
use scenario::{Digest, RunId, load::RateChange};
use store::Store;
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status, Streaming};

use super::{
    batch, limits,
    parts::{Parts, Said},
    status::status,
};
use crate::{
    Error, Handle,
    dispatcher::{
        allocator::{Funds, Word},
        command::{Capacity, Granted, Message, Order, Refusal},
    },
    gate::Visitor,
    scheduler::Held,
    token::Token,
};

#[cfg(any(test, fuzzing))]
pub mod fuzzing;

/// How many orders may wait until the worker reads them.
const WAITING_ORDERS: usize = 256;
/// How many ranges of trials a list may have. No worker sends more.
const MOST_RANGES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Workers<S> {
    handle: Handle<S>,
}

impl<S: Store> Workers<S> {
    pub(super) fn new(handle: Handle<S>) -> Self {
        Self { handle }
    }
}

type Orders = std::pin::Pin<Box<dyn Stream<Item = Result<v1::CoordinatorMessage, Status>> + Send>>;

#[tonic::async_trait]
impl<S: Store> v1::coordinator_server::Coordinator for Workers<S> {
    type WorkStream = Orders;

    async fn join(&self, request: Request<v1::JoinRequest>) -> Result<Response<v1::JoinReply>, Status> {
        let owner = Visitor::owner(request.extensions());
        let request = request.into_inner();
        if request.protocol != proto::PROTOCOL {
            let reason = wrong_protocol(&request.worker, &request.version, request.protocol);
            return Err(Status::failed_precondition(reason));
        }
        let (session, token) = self.handle.join(request.worker, owner).await.map_err(status)?;
        let token = token.bytes().to_vec().into();
        let timing = self.handle.timing();
        let (ttl_millis, beat_millis) = (millis(timing.session_ttl), millis(timing.heartbeat));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Response::new(v1::JoinReply { session, ttl_millis, beat_millis, token, version }))
    }

    async fn work(&self, request: Request<Streaming<v1::WorkerMessage>>) -> Result<Response<Orders>, Status> {
        let (orders, outbound) = mpsc::channel(WAITING_ORDERS);
        // The answer must not wait for the first message: a client may send nothing before it has the answer.
        let owner = Visitor::owner(request.extensions());
        tokio::spawn(listen(self.handle.clone(), owner, request.into_inner(), orders));
        let began = self.handle.began();
        let to_wire = move |order| Ok(order_to_wire(order, || Instant::now().duration_since(began)));
        Ok(Response::new(Box::pin(ReceiverStream::new(outbound).map(to_wire))))
    }

    async fn get_plan(&self, request: Request<v1::GetPlanRequest>) -> Result<Response<v1::GetPlanReply>, Status> {
        let plan = self.handle.plan(&Digest::new(request.into_inner().digest)).await.map_err(status)?;
        Ok(Response::new(v1::GetPlanReply { plan }))
    }
}

fn wrong_protocol(worker: &str, version: &str, protocol: u32) -> String {
    let (ours, own) = (proto::PROTOCOL, env!("CARGO_PKG_VERSION"));
    tracing::warn!(worker, version, protocol, ours, "a worker is refused: it speaks another protocol");
    format!(
        "worker {worker} of version {version} speaks protocol {protocol}, this coordinator, of version {own}, speaks {ours}: use the same version"
    )
}

/// One stream, from its Hello until it closes.
async fn listen<S: Store>(
    handle: Handle<S>,
    owner: String,
    mut inbound: Streaming<v1::WorkerMessage>,
    orders: mpsc::Sender<Order>,
) {
    let first = tokio::time::timeout(handle.timing().session_ttl, inbound.message()).await;
    let Ok(Ok(Some(v1::WorkerMessage { body: Some(up::Body::Hello(hello)) }))) = first else {
        let reason = "a stream begins with Hello".to_owned();
        let _ = orders.send(Order::Goodbye { reason }).await;
        return;
    };
    if hello.protocol != proto::PROTOCOL {
        let reason = wrong_protocol(&hello.worker, &hello.version, hello.protocol);
        let _ = orders.send(Order::Goodbye { reason }).await;
        return;
    }
    let session = hello.session;
    let wanted = CancellationToken::new();
    let proof = Token::of(&hello.token).digest(&owner);
    let agents = hello.agents.into_iter().collect();
    let worker = Capacity { agents, slots: hello.slots, name: hello.worker, version: hello.version };
    let stream = match handle.open_stream(session, proof, worker, orders.clone(), wanted.clone().drop_guard()).await {
        Ok(stream) => stream,
        Err(error) => {
            // The session is not over if the store does not answer or is another coordinator's, or if this one is stopping.
            let reason = error.to_string();
            let order = match status(error).code() {
                Code::Unavailable => Order::Retry { reason },
                _ => Order::Goodbye { reason },
            };
            let _ = orders.send(order).await;
            return;
        }
    };
    // From here on only the dispatcher holds a sender, so that dropping it ends the stream.
    let answers = orders.downgrade();
    drop(orders);
    let hear = async {
        let mut parts = Parts::default();
        while let Ok(Some(message)) = inbound.message().await {
            let before = parts.bytes();
            let body = message.body.map(|body| parts.read(body));
            if let Some(orders) = answers.upgrade().filter(|_| parts.bytes() > before) {
                let _ = orders.send(Order::Received { bytes: parts.bytes() }).await;
            }
            let message = match body {
                None => Message::Malformed { reason: "a message without content".to_owned() },
                Some(Err(reason)) => Message::Malformed { reason },
                Some(Ok(None)) => continue,
                Some(Ok(Some(Said::Batch(batch)))) => read_batch(&handle, session, batch).await?,
                Some(Ok(Some(Said::Other(body)))) => read(body),
            };
            handle.hear(session, stream, message).await?;
        }
        Ok::<(), Error>(())
    };
    tokio::select! {
        // An error means that the coordinator has stopped.
        _ = hear => {}
        () = wanted.cancelled() => {}
    }
    let _ = handle.close_stream(session, stream).await;
}

/// Reads anything but a batch.
fn read(body: up::Body) -> Message {
    let malformed = |reason: &str| Message::Malformed { reason: reason.to_owned() };
    match body {
        up::Body::Hello(_) => malformed("a second Hello on a stream"),
        up::Body::Part(_) | up::Body::Batch(_) => malformed("a part of no batch"),
        up::Body::Beat(beat) => {
            let (unsettled, brief) = (Usd(beat.unsettled_nanos.max(0)), beat.brief);
            let measured = |runner: v1::Runner| Sample {
                delay_micros: runner.delay_micros,
                cpu_permille: runner.cpu_permille,
                memory_bytes: runner.memory_bytes,
                descriptors: runner.descriptors,
            };
            let runner = beat.runner.map(measured);
            let purses = beat.purses.into_iter().map(purse).collect();
            let listed = |held| Message::Heartbeat { held: Some(held).filter(|_| !brief), unsettled, runner, purses };
            held(beat.held).map_or_else(too_long, listed)
        }
        up::Body::Claim(v1::Claim { number, want, idle, ahead }) => Message::Claim { number, want, idle, ahead },
        up::Body::Begun(begun) => held(begun.trials).map_or_else(too_long, |trials| Message::Begun { trials }),
        up::Body::Release(release) => {
            let begun = release.begun;
            held(release.trials).map_or_else(too_long, |trials| Message::Release { trials, begun })
        }
        up::Body::Leave(_) => Message::Leave,
        up::Body::Purse(said) => {
            let (run, word) = purse(said);
            Message::Purse { run, word }
        }
        up::Body::Limits(said) => limits::read(said),
        up::Body::ShareTaken(taken) => limits::taken(taken),
    }
}

async fn read_batch<S: Store>(handle: &Handle<S>, session: u64, batch: Batch) -> Result<Message, Error> {
    // The segment is at least half of a batch, so its size bounds the rest.
    let room = handle.room_for(batch.segment.len()).await?;
    let sequence = batch.sequence;
    match batch::read(session, batch).await {
        Ok(commit) => Ok(Message::Batch { commit: Box::new(commit), room }),
        Err(refusal) => Ok(Message::Unstorable { sequence, refusal }),
    }
}

/// What a worker says of its slice of a run's money.
fn purse(said: v1::Purse) -> (RunId, Word) {
    let v1::Purse { reserved, wanted, need, dearest, running, .. } = said;
    let [reserved, wanted, need, dearest] = [reserved, wanted, need, dearest].map(|nanos| nanos.max(0));
    let run = RunId::new(said.run.clone());
    (run, Word { account: batch::account(said), reserved, wanted, need, dearest, running })
}

fn too_long() -> Message {
    Message::Malformed { reason: format!("a list of more than {MOST_RANGES} ranges of trials") }
}

fn held(listed: Vec<v1::Held>) -> Option<Vec<Held>> {
    let read = |held: v1::Held| Held { run: RunId::new(held.run), trials: held.first..held.end, epoch: held.epoch };
    (listed.len() <= MOST_RANGES).then(|| listed.into_iter().map(read).collect())
}

/// `now`: on the scheduler's clock.
fn order_to_wire(order: Order, now: impl Fn() -> Duration) -> v1::CoordinatorMessage {
    let clock = |heard| Some(v1::Clock { heard_micros: micros(heard), said_micros: micros(now()) });
    let body = match order {
        Order::Welcome { acknowledged, heard } => {
            down::Body::Welcome(v1::Welcome { acknowledged, clock: clock(heard) })
        }
        Order::Acknowledged { sequence } => down::Body::Acknowledged(v1::Acknowledged { sequence }),
        Order::Renewed { ttl, heard } => {
            down::Body::Renewed(v1::Renewed { ttl_millis: millis(ttl), clock: clock(heard) })
        }
        Order::Received { bytes } => down::Body::Received(v1::Received { bytes }),
        Order::Stop { run, drain } => {
            down::Body::Stop(v1::Stop { run: run.as_str().to_owned(), drain, ..v1::Stop::default() })
        }
        Order::TakeBack { run, trials: Range { start, end } } => {
            down::Body::Stop(v1::Stop { run: run.as_str().to_owned(), drain: true, first: start, end })
        }
        Order::Share { limit, share } => down::Body::Share(limits::share_to_wire(limit, share)),
        Order::Funds { run, funds: Funds { granted, short, used_up } } => {
            down::Body::Funds(v1::Funds { run: run.as_str().to_owned(), granted, short, used_up })
        }
        Order::Pause { limit, pause } => down::Body::Pause(limits::pause_to_wire(limit, pause)),
        Order::Learned { limit, named } => down::Body::Learned(limits::learned_to_wire(limit, &named)),
        Order::Day { limit, grant } => down::Body::Day(limits::day_to_wire(limit, grant)),
        Order::Goodbye { reason } => down::Body::Goodbye(v1::Goodbye { reason, rejoin: true, retry: false }),
        Order::Retry { reason } => down::Body::Goodbye(v1::Goodbye { reason, rejoin: false, retry: true }),
        Order::Fenced { trials } => down::Body::Fenced(v1::Fenced { trials: held_to_wire(trials) }),
        Order::Refused { sequence, refusal: Refusal { reason, trials } } => {
            down::Body::Refused(v1::Refused { sequence, reason, trials: held_to_wire(trials) })
        }
        Order::Grant { claim, leases, retry, heard } => {
            let leases = leases.into_iter().map(|Granted { lease, plan, began, rates, budget }| v1::Lease {
                run: lease.run.as_str().to_owned(),
                plan_digest: plan.as_str().to_owned(),
                first: lease.trials.start,
                end: lease.trials.end,
                epoch: lease.epoch,
                began_micros: began,
                rates: rates.into_iter().map(rate_to_wire).collect(),
                budget,
            });
            let (leases, retry_millis) = (leases.collect(), millis(retry));
            down::Body::Grant(v1::Grant { claim, leases, retry_millis, clock: clock(heard) })
        }
    };
    v1::CoordinatorMessage { body: Some(body) }
}

fn rate_to_wire(RateChange { from, rate }: RateChange) -> v1::RateChange {
    v1::RateChange { from_micros: micros(from), rate }
}

fn held_to_wire(trials: Vec<Held>) -> Vec<v1::Held> {
    let to_wire = |held: Held| v1::Held {
        run: held.run.as_str().to_owned(),
        first: held.trials.start,
        end: held.trials.end,
        epoch: held.epoch,
    };
    trials.into_iter().map(to_wire).collect()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
