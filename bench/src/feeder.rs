//! A worker that plays nothing: it claims conversations, and sends the batches that it was given.

use std::{collections::VecDeque, io, time::Duration};

use anyhow::Context as _;
use hyper_util::rt::TokioIo;
use proto::v1::{
    self, coordinator_client::CoordinatorClient, coordinator_message::Body as Order, runs_client::RunsClient,
    worker_message::Body as Word,
};
use scenario::Plan;
use tokio::{io::DuplexStream, sync::mpsc, time::Interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Streaming,
    transport::{Channel, Endpoint},
};

use super::batches::{Encoded, RUN, SLOTS};

/// Batches that may be on their way.
const AHEAD: u64 = 16;
const HEARTBEAT: Duration = Duration::from_secs(2);
const PIPE_BYTES: usize = 1 << 20;

pub(super) type Pipes = mpsc::Sender<io::Result<DuplexStream>>;

pub(super) struct Feeder {
    words: mpsc::Sender<v1::WorkerMessage>,
    orders: Streaming<v1::CoordinatorMessage>,
    runs: RunsClient<Channel>,
    heartbeat: Interval,
    claims: u64,
    /// A claim waits for its answer.
    claiming: bool,
    /// Conversations before this one are leased. They are leased in order.
    leased: u64,
    acknowledged: u64,
}

impl Feeder {
    /// Submits the plan and joins.
    pub(super) async fn join(pipes: &Pipes, plan: &Plan) -> anyhow::Result<Self> {
        let channel = connect(pipes).await?;
        let mut runs = RunsClient::new(channel.clone());
        let request = v1::SubmitRequest {
            run: RUN.to_owned(),
            plan: plan.to_json().into_bytes().into(),
            version: "bench".to_owned(),
            ..v1::SubmitRequest::default()
        };
        runs.submit(request).await?;
        let mut workers = CoordinatorClient::new(channel);
        let request = v1::JoinRequest {
            worker: RUN.to_owned(),
            slots: SLOTS,
            protocol: proto::PROTOCOL,
            ..v1::JoinRequest::default()
        };
        let joined = workers.join(request).await?.into_inner();
        let (words, outbound) = mpsc::channel(256);
        let orders = workers.work(ReceiverStream::new(outbound)).await?.into_inner();
        let heartbeat = tokio::time::interval(HEARTBEAT);
        let feeder = Self { words, orders, runs, heartbeat, claims: 0, claiming: false, leased: 0, acknowledged: 0 };
        let hello = v1::Hello {
            session: joined.session,
            agents: plan.agents.clone(),
            slots: SLOTS,
            worker: RUN.to_owned(),
            version: "bench".to_owned(),
            token: joined.token,
            protocol: proto::PROTOCOL,
        };
        feeder.say(Word::Hello(hello)).await?;
        Ok(feeder)
    }

    /// Sends the batches, each when its conversations are leased, and waits until all are stored.
    pub(super) async fn feed(&mut self, batches: Vec<Encoded>) -> anyhow::Result<()> {
        let last = batches.last().map_or(0, |batch| batch.sequence);
        let mut batches = VecDeque::from(batches);
        while self.acknowledged < last {
            while let Some(next) = batches.front()
                && next.end <= self.leased
                && next.sequence <= self.acknowledged + AHEAD
                && let Some(next) = batches.pop_front()
            {
                for word in next.words {
                    self.say(word).await?;
                }
            }
            if batches.front().is_some_and(|next| next.end > self.leased) && !self.claiming {
                self.claim().await?;
            }
            tokio::select! {
                order = self.orders.message() => self.obey(order?.context("the stream ended")?).await?,
                _ = self.heartbeat.tick() => {
                    self.say(Word::Beat(v1::Beat { brief: true, ..v1::Beat::default() })).await?;
                }
            }
        }
        Ok(())
    }

    /// Leaves, and fails unless everything was counted.
    pub(super) async fn leave(mut self) -> anyhow::Result<()> {
        self.say(Word::Leave(v1::Leave {})).await?;
        let reply = self.runs.get_summary(v1::GetSummaryRequest { run: RUN.to_owned() }).await?.into_inner();
        let summary: record::Summary = serde_json::from_slice(&reply.summary)?;
        anyhow::ensure!(
            summary.summary.trials.pass == self.leased,
            "{} of {} conversations were counted",
            summary.summary.trials.pass,
            self.leased
        );
        Ok(())
    }

    /// Claims as many as may run at once. Those whose batches are stored run no more.
    async fn claim(&mut self) -> anyhow::Result<()> {
        self.claims += 1;
        self.claiming = true;
        self.say(Word::Claim(v1::Claim { number: self.claims, want: SLOTS, idle: SLOTS, ahead: 0 })).await
    }

    async fn obey(&mut self, order: v1::CoordinatorMessage) -> anyhow::Result<()> {
        match order.body.context("an empty order")? {
            Order::Grant(grant) => {
                self.claiming = false;
                if grant.leases.is_empty() {
                    tokio::time::sleep(Duration::from_millis(grant.retry_millis.into())).await;
                }
                for lease in grant.leases {
                    anyhow::ensure!(lease.first == self.leased, "{} was leased after {}", lease.first, self.leased);
                    self.leased = lease.end;
                }
            }
            Order::Acknowledged(done) => self.acknowledged = done.sequence,
            Order::Refused(refused) => anyhow::bail!("batch {} is refused: {}", refused.sequence, refused.reason),
            Order::Goodbye(goodbye) => anyhow::bail!("the session ended: {}", goodbye.reason),
            Order::Fenced(_) => anyhow::bail!("conversations were taken away"),
            Order::Stop(_) => anyhow::bail!("the run was stopped"),
            Order::Welcome(_) | Order::Renewed(_) | Order::Received(_) | Order::Share(_) | Order::Funds(_) => {}
            Order::Day(_) | Order::Pause(_) | Order::Learned(_) => {}
        }
        Ok(())
    }

    async fn say(&self, word: Word) -> anyhow::Result<()> {
        Ok(self.words.send(v1::WorkerMessage { body: Some(word) }).await?)
    }
}

async fn connect(pipes: &Pipes) -> anyhow::Result<Channel> {
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    pipes.send(Ok(theirs)).await?;
    let mut pipe = Some(ours);
    let connector = tower::service_fn(move |_| {
        let pipe = pipe.take().map(TokioIo::new).ok_or_else(|| io::Error::other("one connection"));
        async move { pipe }
    });
    Ok(Endpoint::from_static("http://coordinator").connect_with_connector(connector).await?)
}
