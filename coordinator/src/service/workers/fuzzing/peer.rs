//! One worker of a fuzzer: its stream carries real frames of gRPC, which the coordinator decodes as always.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use proto::v1::{self, worker_message::Body as Word};
use record::{Failure, FailureKind, Trial, Verdict};
use scenario::{Plan, RunId};
use store::Memory;
use tokio::sync::mpsc;
use tonic::{Streaming, codec::Codec as _};
use tonic_prost::ProstCodec;

use crate::{
    Handle,
    dispatcher::command::{Granted, Order},
};

/// The head of a frame: whether it is compressed, and its length.
const HEAD: usize = 5;

pub(super) struct Peer {
    pub(super) session: u64,
    token: Bytes,
    wire: Option<mpsc::Sender<Bytes>>,
    orders: mpsc::Receiver<Order>,
    /// The last batch that it sent, and the last one that was acknowledged.
    sequence: u64,
    pub(super) acknowledged: u64,
    claims: u64,
    held: Vec<v1::Held>,
}

impl Peer {
    pub(super) async fn join(handle: &Handle<Memory>) -> Self {
        let (session, token) = handle.join("w".to_owned(), String::new()).await.expect("the coordinator runs");
        let mut peer = Self {
            session,
            token: Bytes::copy_from_slice(token.bytes()),
            wire: None,
            orders: mpsc::channel(1).1,
            sequence: 0,
            acknowledged: 0,
            claims: 0,
            held: Vec::new(),
        };
        peer.open(handle).await;
        peer
    }

    /// Opens another stream for its session.
    pub(super) async fn open(&mut self, handle: &Handle<Memory>) {
        let (wire, frames) = mpsc::channel(64);
        let (orders, received) = mpsc::channel(super::super::WAITING_ORDERS);
        let decoder = ProstCodec::<v1::CoordinatorMessage, v1::WorkerMessage>::default().decoder();
        let inbound = Streaming::new_request(decoder, Frames(frames), None, Some(proto::MAX_MESSAGE_BYTES));
        tokio::spawn(super::super::listen(handle.clone(), String::new(), inbound, orders));
        (self.wire, self.orders) = (Some(wire), received);
        self.say(Word::Hello(v1::Hello {
            session: self.session,
            agents: vec!["mock".to_owned()],
            slots: 4,
            worker: "w".to_owned(),
            version: "1.2.3".to_owned(),
            token: self.token.clone(),
            protocol: proto::PROTOCOL,
        }))
        .await;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }

    pub(super) fn close(self) {}

    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Bytes that need not be a frame.
    pub(super) async fn wire(&mut self, bytes: Vec<u8>) {
        if let Some(wire) = &self.wire
            && wire.send(bytes.into()).await.is_err()
        {
            self.wire = None;
        }
    }

    /// Bytes that need not be a message, in a frame.
    pub(super) async fn message(&mut self, bytes: &[u8]) {
        let mut frame = Vec::with_capacity(HEAD + bytes.len());
        frame.push(0);
        frame.extend(u32::try_from(bytes.len()).expect("it is short").to_be_bytes());
        frame.extend_from_slice(bytes);
        self.wire(frame).await;
    }

    async fn say(&mut self, word: Word) {
        let bytes = prost::Message::encode_to_vec(&v1::WorkerMessage { body: Some(word) });
        self.message(&bytes).await;
    }

    pub(super) async fn claim(&mut self, ahead_of_last: u8, want: u8, idle: u8) {
        self.claims += 1 + u64::from(ahead_of_last);
        let (want, idle) = (u32::from(want), u32::from(idle));
        self.say(Word::Claim(v1::Claim { number: self.claims, want, idle, ahead: 0 })).await;
    }

    pub(super) async fn beat(&mut self) {
        let held = self.held.clone();
        self.say(Word::Beat(v1::Beat { held, ..v1::Beat::default() })).await;
    }

    pub(super) async fn release(&mut self, begun: u8) {
        if let Some(held) = self.held.pop() {
            self.say(Word::Release(v1::Release { trials: vec![held], begun: begun % 2 == 1 })).await;
        }
    }

    /// Plays what it holds of one lease. `damage`: the place of a byte in the message, and what is changed of it.
    pub(super) async fn play(&mut self, plan: &Plan, verdict: u8, cost: u8, damage: Option<(usize, u8)>) {
        let Some(batch) = self.batch(plan, verdict, cost) else { return };
        let mut bytes = prost::Message::encode_to_vec(&v1::WorkerMessage { body: Some(Word::Batch(batch)) });
        if let Some((place, change)) = damage {
            let place = place % bytes.len();
            bytes[place] ^= change;
        }
        self.message(&bytes).await;
    }

    /// The same in two parts.
    pub(super) async fn parts(&mut self, plan: &Plan, cut: u8) {
        let Some(batch) = self.batch(plan, 0, 1) else { return };
        let bytes = proto::batch_to_bytes(&batch);
        let (first, second) =
            (bytes.slice(..usize::from(cut) % bytes.len()), bytes.slice(usize::from(cut) % bytes.len()..));
        self.say(Word::Part(v1::Part { data: first, last: false })).await;
        self.beat().await;
        self.say(Word::Part(v1::Part { data: second, last: true })).await;
    }

    fn batch(&mut self, plan: &Plan, verdict: u8, cost: u8) -> Option<v1::Batch> {
        let held = self.held.pop()?;
        self.sequence += 1;
        let sequence = self.sequence;
        let numbers = || held.first..held.end;
        let silent = |number| (number, held.epoch, proto::segment::Turns::default());
        let (segment, lengths) = proto::segment::encode(numbers().map(silent));
        let ended = numbers().zip((0..).zip(lengths)).filter_map(|(number, (place, bytes))| {
            let planned = plan.trial(number)?;
            let failure = |kind| Failure::new(kind, "fuzzed");
            let mut trial = Trial::unplayed(&planned, held.epoch, Verdict::Pass, failure(FailureKind::Dropped));
            (trial.verdict, trial.failure) = match verdict % 4 {
                0 => (Verdict::Pass, None),
                1 => (Verdict::Fail, Some(failure(FailureKind::CheckFailed))),
                2 => (Verdict::Error, Some(failure(FailureKind::EnvironmentFailed))),
                _ => (Verdict::Skipped, Some(failure(FailureKind::Dropped))),
            };
            Some(proto::trial::to_wire(trial, vec![v1::Piece { sequence, place, bytes }]))
        });
        let spend = v1::SpendEntry {
            role: "agent".to_owned(),
            calls: 1,
            cost_nanos: i64::from(cost) * 10_000,
            ..v1::SpendEntry::default()
        };
        Some(v1::Batch {
            sequence,
            run: held.run.clone(),
            ended: ended.collect(),
            turns: 0,
            spend: if cost == 0 { Vec::new() } else { vec![spend] },
            segment,
            purse: None,
        })
    }

    /// Reads all orders.
    pub(super) fn listen(&mut self, plan: &Plan, runs: &[RunId]) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Acknowledged { sequence } => {
                    // One that was sent again is acknowledged again.
                    self.acknowledged = self.acknowledged.max(sequence);
                }
                Order::Welcome { acknowledged, .. } => {
                    self.sequence = acknowledged;
                    self.acknowledged = acknowledged;
                }
                Order::Refused { sequence, .. } => self.sequence = sequence.saturating_sub(1),
                Order::Grant { leases, .. } => {
                    for Granted { lease, .. } in leases {
                        assert!(runs.contains(&lease.run), "{}", lease.run);
                        assert!(plan.trial(lease.trials.start).is_some() && lease.epoch > 0, "{lease:?}");
                        let (run, first, end) = (lease.run.as_str().to_owned(), lease.trials.start, lease.trials.end);
                        self.held.push(v1::Held { run, first, end, epoch: lease.epoch });
                    }
                }
                Order::Fenced { trials } => {
                    let lost = |one: &v1::Held| {
                        trials.iter().any(|held| {
                            held.run.as_str() == one.run && held.epoch == one.epoch && held.trials.contains(&one.first)
                        })
                    };
                    self.held.retain(|held| !lost(held));
                }
                _ => {}
            }
        }
    }
}

/// The body of a request: frames as they come.
struct Frames(mpsc::Receiver<Bytes>);

impl Body for Frames {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
