//! The worker's side of the lease protocol: join, claim, beat, send results, come back after a broken stream.

use std::time::Duration;

use proto::v1::{
    self, coordinator_client::CoordinatorClient, coordinator_message::Body as Order, worker_message::Body as Word,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::{executor::Executor, gate::Gate, outbox::Outbox};

/// How a worker presents itself.
#[derive(Debug, Clone)]
pub struct Config {
    /// For people.
    pub name: String,
    /// Concurrent trials.
    pub slots: u32,
    pub timing: Timing,
}

/// How long the worker trusts a silent coordinator.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Without an open stream no new call starts after this.
    pub away: Duration,
    /// Without a renewed lease everything that is being played is given up after this.
    pub self_fence: Duration,
    /// How long to try to reach a coordinator before giving up.
    pub patience: Duration,
    /// How long trials that are being played may take after a drain began.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            away: Duration::from_secs(1),
            self_fence: Duration::from_secs(20),
            patience: Duration::from_secs(60),
            grace: Duration::from_secs(120),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("reach the coordinator within {} s: {last}", patience.as_secs())]
    Unreachable { patience: Duration, last: String },
    #[error("join the coordinator: {0}")]
    Refused(String),
}

/// Results are sent at most this long after they came, so that many of them share a batch.
const LINGER: Duration = Duration::from_millis(10);
const RECONNECT: Duration = Duration::from_millis(200);

/// Why a stream ended.
enum End {
    /// Open another one for the same session.
    Broken,
    /// Join again: the session is over.
    Over,
    /// Everything is sent and acknowledged.
    Drained,
}

/// Plays leased trials until `drain` is cancelled and what was being played is sent.
pub(crate) async fn run(
    config: &Config,
    channel: Channel,
    executor: &mut Executor,
    outbox: &Outbox,
    gate: &Gate,
    drain: &CancellationToken,
) -> Result<(), Error> {
    let mut client = CoordinatorClient::new(channel)
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    loop {
        let Some(joined) = join(config, &mut client, executor.agents(), drain).await? else {
            return Ok(());
        };
        let mut session = Session {
            id: joined.session,
            beat: Duration::from_millis(u64::from(joined.beat_millis.max(50))),
            claim: 0,
            claim_open: false,
            not_before: Instant::now(),
            renewed: Instant::now(),
            leaving: false,
            config,
            executor: &mut *executor,
            outbox,
            gate,
        };
        match session.live(&mut client, drain).await {
            End::Drained => return Ok(()),
            End::Over | End::Broken => {
                executor.abandon_all();
                outbox.clear();
            }
        }
    }
}

/// `None`: drained before there was a session.
async fn join(
    config: &Config,
    client: &mut CoordinatorClient<Channel>,
    agents: Vec<String>,
    drain: &CancellationToken,
) -> Result<Option<v1::JoinReply>, Error> {
    let began = Instant::now();
    let request = v1::JoinRequest {
        worker: config.name.clone(),
        slots: config.slots,
        agents,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: proto::PROTOCOL,
    };
    loop {
        let refused = tokio::select! {
            () = drain.cancelled() => return Ok(None),
            answer = client.join(request.clone()) => match answer {
                Ok(reply) => return Ok(Some(reply.into_inner())),
                Err(status) => status,
            },
        };
        match refused.code() {
            tonic::Code::Unavailable
            | tonic::Code::Unknown
            | tonic::Code::Cancelled
            | tonic::Code::DeadlineExceeded => {}
            _ => return Err(Error::Refused(refused.message().to_owned())),
        }
        if began.elapsed() >= config.timing.patience {
            return Err(Error::Unreachable { patience: config.timing.patience, last: refused.message().to_owned() });
        }
        tokio::select! {
            () = drain.cancelled() => return Ok(None),
            () = tokio::time::sleep(RECONNECT) => {}
        }
    }
}

struct Session<'a> {
    id: u64,
    beat: Duration,
    /// The number of the last claim.
    claim: u64,
    /// It has not been answered.
    claim_open: bool,
    /// The coordinator had nothing: do not claim before.
    not_before: Instant,
    /// When the last beat that was answered was sent.
    renewed: Instant,
    leaving: bool,
    config: &'a Config,
    executor: &'a mut Executor,
    outbox: &'a Outbox,
    gate: &'a Gate,
}

impl Session<'_> {
    /// One session, over as many streams as it takes.
    async fn live(&mut self, client: &mut CoordinatorClient<Channel>, drain: &CancellationToken) -> End {
        loop {
            let end = self.stream(client, drain).await;
            if !matches!(end, End::Broken) {
                return end;
            }
            let broken = Instant::now();
            tracing::debug!(session = self.id, "stream to the coordinator broke");
            // Trials go on for a moment: a coordinator that restarts quickly costs nothing.
            tokio::time::sleep(RECONNECT).await;
            if broken.elapsed() >= self.config.timing.away {
                self.gate.set_away(true);
            }
            if self.renewed.elapsed() >= self.config.timing.self_fence {
                return End::Over;
            }
            if drain.is_cancelled() && self.executor.is_idle() && self.outbox.is_empty() {
                return End::Drained;
            }
            if self.renewed.elapsed() >= self.config.timing.away {
                self.gate.set_away(true);
            }
        }
    }

    async fn stream(&mut self, client: &mut CoordinatorClient<Channel>, drain: &CancellationToken) -> End {
        let (words, outgoing) = mpsc::channel::<v1::WorkerMessage>(64);
        let hello = v1::Hello { session: self.id, first_unacknowledged: self.outbox.first_unacknowledged() };
        if !say(&words, Word::Hello(hello)).await {
            return End::Broken;
        }
        let mut orders = match client.work(ReceiverStream::new(outgoing)).await {
            Ok(reply) => reply.into_inner(),
            Err(status) if is_over(&status) => return End::Over,
            Err(_) => return End::Broken,
        };
        let mut beats = tokio::time::interval(self.beat);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut sent_beat = Instant::now();
        let mut welcome = false;
        let mut grace_ends: Option<Instant> = None;
        let mut flush_at: Option<Instant> = None;
        loop {
            if welcome {
                if drain.is_cancelled() && !self.leaving {
                    self.begin_drain(&words).await;
                }
                if self.leaving {
                    let ends = *grace_ends.get_or_insert_with(|| Instant::now() + self.config.timing.grace);
                    if Instant::now() >= ends {
                        self.give_up_running(&words).await;
                    }
                    if self.executor.is_idle() && self.outbox.is_empty() {
                        say(&words, Word::Leave(v1::Leave {})).await;
                        return End::Drained;
                    }
                } else if !self.claim_if_wanted(&words).await {
                    return End::Broken;
                }
            }
            let waiting_for_work = self.claim_open || self.leaving || self.executor.wanted() == 0;
            tokio::select! {
                order = orders.next() => match order {
                    Some(Ok(message)) => {
                        welcome |= matches!(message.body, Some(Order::Welcome(_)));
                        if let Some(end) = self.obey(message, &words, client, sent_beat).await {
                            return end;
                        }
                    }
                    Some(Err(status)) if is_over(&status) => return End::Over,
                    Some(Err(_)) | None => return End::Broken,
                },
                () = self.executor.finished() => self.executor.start_ready(),
                () = self.outbox.wait(), if welcome && flush_at.is_none() => {
                    let linger = if self.outbox.is_heavy() { Duration::ZERO } else { LINGER };
                    flush_at = Some(Instant::now() + linger);
                }
                () = sleep_until(flush_at), if flush_at.is_some() => {
                    flush_at = None;
                    for batch in self.outbox.take() {
                        if !say(&words, Word::Batch(batch)).await {
                            return End::Broken;
                        }
                    }
                }
                _ = beats.tick(), if welcome => {
                    if self.renewed.elapsed() >= self.config.timing.self_fence {
                        return End::Over;
                    }
                    let beat = v1::Beat {
                        held: self.executor.held(&self.outbox.unacknowledged_attempts()),
                        unsettled_nanos: self.executor.unsettled_nanos(),
                        busy_slots: self.executor.busy(),
                    };
                    sent_beat = Instant::now();
                    if !say(&words, Word::Beat(beat)).await {
                        return End::Broken;
                    }
                }
                () = tokio::time::sleep_until(self.not_before), if welcome && !waiting_for_work && Instant::now() < self.not_before => {}
                () = drain.cancelled(), if !self.leaving => {}
            }
        }
    }

    /// `Some`: the stream is over.
    async fn obey(
        &mut self,
        message: v1::CoordinatorMessage,
        words: &mpsc::Sender<v1::WorkerMessage>,
        client: &mut CoordinatorClient<Channel>,
        sent_beat: Instant,
    ) -> Option<End> {
        match message.body? {
            Order::Welcome(welcome) => {
                self.outbox.acknowledged(welcome.acknowledged);
                for batch in self.outbox.unacknowledged() {
                    if !say(words, Word::Batch(batch)).await {
                        return Some(End::Broken);
                    }
                }
                self.renewed = Instant::now();
                self.gate.set_away(false);
                if self.claim_open {
                    self.send_claim(words).await;
                }
            }
            Order::Grant(grant) if grant.claim == self.claim && self.claim_open => {
                self.claim_open = false;
                if grant.leases.is_empty() {
                    self.not_before = Instant::now() + Duration::from_millis(u64::from(grant.retry_millis.max(10)));
                }
                for lease in grant.leases {
                    if self.leaving {
                        let held = held_of(&lease);
                        say(words, Word::Release(v1::Release { trials: vec![held] })).await;
                        continue;
                    }
                    if let Err(why) = self.executor.lend(lease, client).await {
                        // Without its plan a lease cannot be played; the reconciliation takes it back.
                        tracing::warn!(error = %why, "failed to read the plan of a lease");
                    }
                }
                self.executor.start_ready();
            }
            Order::Grant(_) => {}
            Order::Acknowledged(done) => self.outbox.acknowledged(done.sequence),
            Order::Fenced(fenced) => self.executor.fence(&fenced.trials),
            Order::Renewed(_) => {
                self.renewed = sent_beat;
                self.gate.set_away(false);
            }
            Order::Drain(_) => self.begin_drain(words).await,
            Order::Stop(stop) => {
                let given_back = self.executor.stop_run(&stop.run, stop.drain);
                if !given_back.is_empty() {
                    say(words, Word::Release(v1::Release { trials: given_back })).await;
                }
            }
            Order::Goodbye(goodbye) => {
                tracing::info!(reason = goodbye.reason, "the coordinator ended the session");
                return Some(if goodbye.rejoin { End::Over } else { End::Drained });
            }
        }
        None
    }

    async fn claim_if_wanted(&mut self, words: &mpsc::Sender<v1::WorkerMessage>) -> bool {
        if self.claim_open || self.executor.wanted() == 0 || Instant::now() < self.not_before {
            return true;
        }
        self.claim += 1;
        self.claim_open = true;
        self.send_claim(words).await
    }

    async fn send_claim(&self, words: &mpsc::Sender<v1::WorkerMessage>) -> bool {
        say(words, Word::Claim(v1::Claim { number: self.claim, want: self.executor.wanted().max(1) })).await
    }

    async fn begin_drain(&mut self, words: &mpsc::Sender<v1::WorkerMessage>) {
        self.leaving = true;
        let given_back = self.executor.give_back_unstarted();
        if !given_back.is_empty() {
            say(words, Word::Release(v1::Release { trials: given_back })).await;
        }
    }

    async fn give_up_running(&mut self, words: &mpsc::Sender<v1::WorkerMessage>) {
        let given_up = self.executor.give_up_running();
        if !given_up.is_empty() {
            say(words, Word::Release(v1::Release { trials: given_up })).await;
        }
    }
}

/// Whether the coordinator says that the session does not live any more.
fn is_over(status: &tonic::Status) -> bool {
    matches!(status.code(), tonic::Code::FailedPrecondition | tonic::Code::NotFound)
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn held_of(lease: &v1::Lease) -> v1::Held {
    v1::Held { run: lease.run.clone(), first: lease.first, end: lease.end, epoch: lease.epoch }
}

/// False when the stream is gone.
async fn say(words: &mpsc::Sender<v1::WorkerMessage>, word: Word) -> bool {
    words.send(v1::WorkerMessage { body: Some(word) }).await.is_ok()
}
