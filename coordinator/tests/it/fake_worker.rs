//! A worker that sends exactly what a test wants.

use std::time::Duration;

use proto::v1::{self, coordinator_message::Body as Order, worker_message::Body as Word};
use record::{Turn, Verdict};
use scenario::Plan;
use store::Store;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::{
    plans::{spend, trial, turn},
    served::Served,
};

pub(crate) struct FakeWorker {
    pub(crate) session: u64,
    /// The secret of its session.
    pub(crate) token: bytes::Bytes,
    words: mpsc::Sender<v1::WorkerMessage>,
    orders: Streaming<v1::CoordinatorMessage>,
    claims: u64,
    /// Slots: how many granted trials begin at once.
    pub(crate) idle: u32,
    pub(crate) sequence: u64,
    /// How many bytes of its batches the coordinator has read.
    pub(crate) received: u64,
    /// Trials that a fence order took away while the test waited for another order.
    pub(crate) fenced: Vec<v1::Held>,
}

impl FakeWorker {
    pub(crate) async fn join<S: Store>(served: &mut Served<S>) -> Self {
        Self::join_knowing(served, &["mock"]).await
    }

    pub(crate) async fn join_knowing<S: Store>(served: &mut Served<S>, agents: &[&str]) -> Self {
        let request =
            v1::JoinRequest { worker: "w".to_owned(), slots: 2, protocol: proto::PROTOCOL, ..Default::default() };
        let joined = served.workers.join(request).await.unwrap().into_inner();
        let mut worker = Self::hello_knowing(served, joined.session, joined.token, agents).await;
        assert!(matches!(worker.hear().await, Some(Order::Welcome(v1::Welcome { acknowledged: 0, .. }))));
        worker
    }

    /// A stream on which only the Hello was sent.
    pub(crate) async fn hello<S: Store>(served: &mut Served<S>, session: u64, token: impl AsRef<[u8]>) -> Self {
        let token = bytes::Bytes::copy_from_slice(token.as_ref());
        Self::hello_knowing(served, session, token, &["mock"]).await
    }

    /// Another stream for its session.
    pub(crate) async fn again<S: Store>(&self, served: &mut Served<S>) -> Self {
        Self::hello(served, self.session, &self.token).await
    }

    async fn hello_knowing<S: Store>(
        served: &mut Served<S>,
        session: u64,
        token: bytes::Bytes,
        agents: &[&str],
    ) -> Self {
        let agents = agents.iter().map(|agent| (*agent).to_owned()).collect();
        let hello = Word::Hello(v1::Hello {
            session,
            agents,
            slots: 2,
            worker: "w".to_owned(),
            version: "1.2.3".to_owned(),
            token: token.clone(),
            protocol: proto::PROTOCOL,
        });
        let mut worker = Self::stream(served).await;
        (worker.session, worker.token) = (session, token);
        worker.say(hello).await;
        worker
    }

    /// A stream on which nothing was sent.
    pub(crate) async fn stream<S: Store>(served: &mut Served<S>) -> Self {
        let (words, outbound) = mpsc::channel(64);
        let orders = served.workers.work(ReceiverStream::new(outbound)).await.unwrap().into_inner();
        Self {
            session: 0,
            token: bytes::Bytes::new(),
            words,
            orders,
            claims: 0,
            idle: u32::MAX,
            sequence: 0,
            received: 0,
            fenced: Vec::new(),
        }
    }

    pub(crate) async fn say(&self, word: Word) {
        self.words.send(v1::WorkerMessage { body: Some(word) }).await.unwrap();
    }

    /// The next order other than a renewal; `None` when the stream is over.
    pub(crate) async fn hear(&mut self) -> Option<Order> {
        loop {
            match self.orders.message().await {
                Ok(Some(message)) => match message.body.unwrap() {
                    Order::Renewed(_) => {}
                    Order::Received(received) => self.received = received.bytes,
                    Order::Share(share) => {
                        // If the coordinator does not listen, it does not wait for confirmation either.
                        let _ = self.words.try_send(v1::WorkerMessage { body: Some(Word::ShareTaken(share)) });
                    }
                    Order::Fenced(fenced) => self.fenced.extend(fenced.trials),
                    order => return Some(order),
                },
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Whether it receives nothing for a while.
    pub(crate) async fn receives_nothing(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(50), self.hear()).await.is_err()
    }

    /// The reason with which the coordinator closes the stream.
    pub(crate) async fn goodbye(&mut self) -> String {
        loop {
            match self.hear().await {
                Some(Order::Goodbye(goodbye)) => {
                    assert!(goodbye.rejoin);
                    assert_eq!(self.hear().await, None, "the stream ends with it");
                    return goodbye.reason;
                }
                Some(_) => {}
                None => panic!("the stream ended without a goodbye"),
            }
        }
    }

    pub(crate) async fn claim(&mut self, want: u32) -> Vec<v1::Lease> {
        self.claims += 1;
        self.claim_as(self.claims, want).await
    }

    pub(crate) async fn claim_as(&mut self, number: u64, want: u32) -> Vec<v1::Lease> {
        self.say(Word::Claim(v1::Claim { number, want, idle: self.idle.min(want), ahead: 0 })).await;
        match self.hear().await {
            Some(Order::Grant(grant)) => {
                assert_eq!(grant.claim, number);
                assert_eq!(grant.retry_millis, 200);
                grant.leases
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn heartbeat(&self, leases: &[v1::Lease], unsettled_nanos: i64) {
        let held = leases.iter().map(|lease| held(lease, lease.first, lease.end)).collect();
        self.say(Word::Beat(v1::Beat { held, unsettled_nanos, ..v1::Beat::default() })).await;
    }

    /// Sends two turns and the end of each trial in one batch, and waits for the acknowledgement.
    pub(crate) async fn plays(&mut self, plan: &Plan, lease: &v1::Lease, verdict: Verdict) {
        self.sequence += 1;
        let batch = batch(plan, self.sequence, lease, verdict);
        self.say(Word::Batch(batch)).await;
        self.acknowledged().await;
    }

    pub(crate) async fn acknowledged(&mut self) {
        let sequence = self.sequence;
        assert_eq!(self.hear().await, Some(Order::Acknowledged(v1::Acknowledged { sequence })));
    }

    /// Claims and plays until there is nothing left to lease.
    pub(crate) async fn plays_all(&mut self, plan: &Plan) {
        loop {
            let leases = self.claim(3).await;
            if leases.is_empty() {
                return;
            }
            for lease in leases {
                self.plays(plan, &lease, Verdict::Pass).await;
            }
        }
    }
}

pub(crate) fn held(lease: &v1::Lease, first: u64, end: u64) -> v1::Held {
    v1::Held { run: lease.run.clone(), first, end, epoch: lease.epoch }
}

/// What the agent says in an attempt: a text that identifies the attempt in a transcript.
pub(crate) fn words(trial: u64, epoch: u32) -> [Turn; 2] {
    [turn(1, &format!("trial {trial}, epoch {epoch}")), turn(2, "bye")]
}

pub(crate) fn batch(plan: &Plan, sequence: u64, lease: &v1::Lease, verdict: Verdict) -> v1::Batch {
    let played: Vec<(u64, [Turn; 2])> =
        (lease.first..lease.end).map(|number| (number, words(number, lease.epoch))).collect();
    let words = played.iter().map(|(number, turns)| (*number, lease.epoch, turns.iter().cloned().collect()));
    let (segment, lengths) = proto::segment::encode(words);
    let ended = played.iter().zip((0..).zip(lengths)).map(|((number, turns), (place, bytes))| {
        let piece = v1::Piece { sequence, place, bytes };
        proto::trial::to_wire(trial(plan, *number, lease.epoch, verdict, turns), vec![piece])
    });
    let all: Vec<Turn> = played.iter().flat_map(|(_, turns)| turns.clone()).collect();
    v1::Batch {
        sequence,
        run: lease.run.clone(),
        ended: ended.collect(),
        turns: all.len() as u32,
        spend: proto::trial::spend_to_wire(spend(&all)),
        segment,
        purse: None,
    }
}
