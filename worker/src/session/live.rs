//! One session with the coordinator: claim, beat, send results, come back after a broken stream.

use std::{collections::VecDeque, pin::pin, time::Duration};

use llm::limit::Share;
use proto::v1::{
    self, coordinator_client::CoordinatorClient, coordinator_message::Body as Order, worker_message::Body as Word,
};
use scenario::Digest;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{Streaming, transport::Channel};

use super::{Config, Drain, RECONNECT, pipe::Pipe};
use crate::{executor::Executor, gate::Gate, outbox::Outbox};

/// Results are sent at most this long after they came, so that many of them share a batch: a commit costs the
/// same for one as for hundreds.
const LINGER: Duration = Duration::from_millis(50);
/// How long the last word may take to arrive.
const FAREWELL: Duration = Duration::from_secs(1);
/// Between two claims, where the last one brought what cannot be played.
const DECLINED: Duration = Duration::from_secs(1);
/// Between two looks at whether calls beyond a smaller share have ended.
const SETTLING: Duration = Duration::from_millis(20);
/// Of a range of trials on the wire, besides the name of its run.
const HELD_BYTES: usize = 16;
/// What beats may take of a slow link.
const LIST_BYTES_A_SECOND: usize = 512;
/// A coordinator takes back what was not listed for 30 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Words that may wait in the pipe; batches that find no room stay in the outbox.
const PIPE_WORDS: usize = 64;

/// Why a stream or a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Open another stream for the same session.
    Broken,
    /// Join again: the session is over.
    Over,
    /// Everything is sent and acknowledged.
    Drained,
}

pub(super) struct Session<'a> {
    id: u64,
    /// Proves on each stream that the session is ours.
    token: bytes::Bytes,
    beat: Duration,
    /// The number of the last claim.
    claim: u64,
    /// It has not been answered.
    claim_open: bool,
    /// The coordinator had nothing: do not claim before.
    not_before: Instant,
    /// When the last beat that was answered was sent: until `self_fence` after it the session lives for certain.
    renewed: Instant,
    /// Since when there is no stream on which the coordinator has welcomed us.
    apart: Option<Instant>,
    /// Whether there ever was one.
    welcomed: bool,
    /// While a drain lasts: when what is being played is given up.
    leaving: Option<Instant>,
    /// Not in the pipe yet, besides batches.
    unsaid: VecDeque<Word>,
    /// When the beats of this stream were sent that are not answered yet. They are answered in order.
    unanswered: VecDeque<Instant>,
    /// The part of the limits that was given and not answered yet: calls are in flight beyond it.
    share: Option<v1::Share>,
    /// Batches are put into the pipe until the outbox is empty.
    flushing: bool,
    pipe: Pipe,
    /// A beat lists what is held from then on.
    list_at: Instant,
    /// How long after the last answered beat the session lives for certain.
    self_fence: Duration,
    config: &'a Config,
    client: &'a mut CoordinatorClient<Channel>,
    executor: &'a mut Executor,
    outbox: &'a Outbox,
    gate: &'a Gate,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        joined: &v1::JoinReply,
        config: &'a Config,
        client: &'a mut CoordinatorClient<Channel>,
        executor: &'a mut Executor,
        outbox: &'a Outbox,
        gate: &'a Gate,
    ) -> Self {
        let now = Instant::now();
        Self {
            id: joined.session,
            token: joined.token.clone(),
            beat: Duration::from_millis(u64::from(joined.beat_millis.max(50))),
            claim: 0,
            claim_open: false,
            not_before: now,
            renewed: now,
            apart: Some(now),
            welcomed: false,
            leaving: None,
            unsaid: VecDeque::new(),
            unanswered: VecDeque::new(),
            share: None,
            flushing: false,
            pipe: Pipe::new(),
            list_at: now,
            // Two thirds of what the coordinator waits, so that clocks may differ.
            self_fence: config.timing.self_fence.min(Duration::from_millis(u64::from(joined.ttl_millis)) * 2 / 3),
            config,
            client,
            executor,
            outbox,
            gate,
        }
    }

    /// Over as many streams as it takes.
    pub(super) async fn live(&mut self, drain: &Drain) -> End {
        loop {
            let end = self.stream(drain).await;
            self.executor.connected(false);
            if end != End::Broken {
                return end;
            }
            if self.apart.is_none() {
                tracing::info!(session = self.id, "the coordinator went away: running conversations go on for a while");
                self.apart = Some(Instant::now());
            }
            if drain.begin.is_cancelled() && self.executor.is_idle() && self.outbox.is_empty() {
                return End::Drained;
            }
            // Trials go on for a moment: a coordinator that restarts quickly costs nothing.
            if self.reach(sleep(RECONNECT)).await.is_none() {
                return End::Over;
            }
        }
    }

    async fn stream(&mut self, drain: &Drain) -> End {
        self.unsaid.clear();
        self.unanswered.clear();
        self.flushing = false;
        self.pipe = Pipe::new();
        self.list_at = Instant::now();
        self.outbox.rewind();
        // What others were given meanwhile is not known here.
        self.executor.set_share(Share::NONE);
        self.share = None;
        let (words, outgoing) = mpsc::channel::<v1::WorkerMessage>(PIPE_WORDS);
        let hello_sent = Instant::now();
        let hello = v1::Hello {
            session: self.id,
            agents: self.executor.agents(),
            slots: self.config.slots,
            worker: self.config.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: self.token.clone(),
        };
        if words.try_send(v1::WorkerMessage { body: Some(Word::Hello(hello)) }).is_err() {
            return End::Broken;
        }
        let mut client = self.client.clone();
        let mut orders = match self.reach(client.work(ReceiverStream::new(outgoing))).await {
            Some(Ok(reply)) => reply.into_inner(),
            Some(Err(status)) if is_over(&status) => return End::Over,
            Some(Err(_)) => return End::Broken,
            None => return End::Over,
        };
        let mut beats = tokio::time::interval(self.beat);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut flush_at: Option<Instant> = None;
        loop {
            let welcome = self.apart.is_none();
            if welcome {
                let begun = self.executor.take_begun();
                self.say_begun(begun);
                if drain.begin.is_cancelled() {
                    self.begin_drain();
                }
                if self.leaving.is_none() {
                    self.claim_if_wanted();
                } else if self.executor.is_idle() && self.outbox.is_empty() {
                    self.say(Word::Leave(v1::Leave {}));
                    self.farewell(words, orders).await;
                    return End::Drained;
                }
            }
            let claims_later = welcome && self.leaving.is_none() && !self.claim_open && self.executor.wanted() > 0;
            let (closes_at, fenced_at) = (self.closes_at(), self.fenced_at());
            tokio::select! {
                order = orders.next() => match order {
                    Some(Ok(v1::CoordinatorMessage { body: Some(order) })) => {
                        if let Some(end) = self.obey(order, hello_sent).await {
                            return end;
                        }
                    }
                    Some(Ok(v1::CoordinatorMessage { body: None })) => {}
                    Some(Err(status)) if is_over(&status) => return End::Over,
                    Some(Err(_)) | None => return End::Broken,
                },
                room = words.reserve(), if (self.flushing && self.pipe.has_room()) || !self.unsaid.is_empty() => match room {
                    Ok(room) => {
                        if let Some(word) = self.next_word() {
                            room.send(v1::WorkerMessage { body: Some(word) });
                        }
                    }
                    Err(_) => return End::Broken,
                },
                () = self.executor.finished() => self.executor.start_ready(),
                () = self.outbox.wait(), if welcome && !self.flushing && flush_at.is_none() => {
                    let linger = if self.outbox.is_heavy() { Duration::ZERO } else { LINGER };
                    flush_at = Some(Instant::now() + linger);
                }
                () = at(flush_at) => {
                    flush_at = None;
                    self.flushing = true;
                }
                _ = beats.tick(), if welcome => self.say_beat(),
                () = sleep_until(self.not_before), if claims_later => {}
                () = drain.begin.cancelled(), if welcome && self.leaving.is_none() => {}
                () = drain.hurry.cancelled(), if welcome && self.leaving.is_some() && self.executor.busy() > 0 => {
                    self.give_up_running();
                }
                () = sleep(SETTLING), if self.share.is_some() => self.answer_share(),
                () = at(self.leaving), if welcome && self.executor.busy() > 0 => self.give_up_running(),
                () = at(closes_at) => self.gate.set_away(true),
                () = sleep_until(fenced_at) => return End::Over,
            }
        }
    }

    /// `Some`: the stream is over.
    async fn obey(&mut self, order: Order, hello_sent: Instant) -> Option<End> {
        match order {
            Order::Welcome(welcome) => {
                self.outbox.acknowledged(welcome.acknowledged);
                self.flushing = true;
                self.renewed = hello_sent;
                self.say_welcome();
                self.gate.set_away(false);
                self.executor.connected(true);
                self.executor.start_ready();
                if self.claim_open {
                    self.say_claim();
                }
                let begun = self.executor.all_begun(&self.outbox.unacknowledged_attempts());
                self.say_begun(begun);
            }
            Order::Grant(grant) if grant.claim == self.claim && self.claim_open => {
                self.claim_open = false;
                if grant.leases.is_empty() {
                    self.not_before = Instant::now() + Duration::from_millis(u64::from(grant.retry_millis.max(10)));
                } else {
                    self.executor.granted(Instant::now());
                }
                for lease in grant.leases {
                    if self.leaving.is_some() {
                        self.release(vec![held_of(&lease)], false);
                    } else if let Some(end) = self.take_lease(&lease).await {
                        return Some(end);
                    }
                }
                self.executor.start_ready();
            }
            Order::Grant(_) => {}
            Order::Acknowledged(done) => self.outbox.acknowledged(done.sequence),
            Order::Fenced(fenced) => {
                self.executor.fence(&fenced.trials);
                self.executor.start_ready();
            }
            Order::Refused(refused) => {
                let reason = refused.reason.as_str();
                tracing::warn!(batch = refused.sequence, reason, "the coordinator refuses what was recorded");
                let unfinished = self.outbox.refused(&refused);
                self.executor.end_unrecorded(unfinished, reason);
                self.flushing = true;
            }
            Order::Renewed(_) => {
                if let Some(sent) = self.unanswered.pop_front() {
                    self.renewed = self.renewed.max(sent);
                }
            }
            Order::Stop(stop) => {
                let (waited, given_up) = self.executor.stop_run(&stop.run, stop.drain);
                self.release(waited, false);
                self.release(given_up, true);
                self.executor.start_ready();
            }
            Order::Received(received) => self.pipe.received(received.bytes, Instant::now()),
            Order::Share(share) => {
                self.executor.set_share(Share::new(share.slots, share.of));
                self.share = Some(share);
                self.answer_share();
            }
            Order::Goodbye(goodbye) => {
                tracing::info!(reason = goodbye.reason, "the coordinator ended the session");
                return Some(if goodbye.rejoin { End::Over } else { End::Drained });
            }
        }
        None
    }

    /// Tells people that there is a stream again, and how long there was none.
    fn say_welcome(&mut self) {
        let Some(since) = self.apart.take() else { return };
        if std::mem::replace(&mut self.welcomed, true) {
            let away_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(session = self.id, away_ms, "the coordinator is back");
        } else {
            tracing::info!(session = self.id, "joined the coordinator");
        }
    }

    /// Its plan is fetched where it is not known. Without it a lease cannot be played: then it stands in no beat,
    /// and the coordinator takes it back.
    async fn take_lease(&mut self, lease: &v1::Lease) -> Option<End> {
        let digest = Digest::new(lease.plan_digest.clone());
        if !self.executor.knows(&digest) {
            let mut client = self.client.clone();
            let request = v1::GetPlanRequest { digest: lease.plan_digest.clone() };
            let learned = match self.reach(client.get_plan(request)).await {
                None => return Some(End::Over),
                Some(Ok(reply)) => self.executor.learn(digest, &reply.into_inner().plan).map_err(|why| why.to_string()),
                Some(Err(status)) => Err(status.message().to_owned()),
            };
            if let Err(error) = learned {
                tracing::warn!(run = lease.run, error, "the plan of a lease cannot be had");
                self.decline(lease);
                return None;
            }
        }
        if let Err(error) = self.executor.lend(lease) {
            tracing::warn!(run = lease.run, %error, "a lease cannot be played");
            self.decline(lease);
        }
        None
    }

    /// Gives a lease back to whoever can play it, and does not ask again at once.
    fn decline(&mut self, lease: &v1::Lease) {
        self.release(vec![held_of(lease)], false);
        self.not_before = Instant::now() + DECLINED;
    }

    /// Waits for something of a coordinator that may be away; trials go on, until it is away for long.
    /// `None`: it took so long that the session may be over.
    async fn reach<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        let mut answer = pin!(answer);
        loop {
            let (closes_at, fenced_at) = (self.closes_at(), self.fenced_at());
            tokio::select! {
                answer = &mut answer => return Some(answer),
                () = self.executor.finished() => {
                    if !self.gate.is_away() {
                        self.executor.start_ready();
                    }
                }
                () = at(closes_at) => self.gate.set_away(true),
                () = sleep_until(fenced_at) => return None,
            }
        }
    }

    /// When no call may start any more, where that is to come.
    fn closes_at(&self) -> Option<Instant> {
        let closes_at = self.apart? + self.config.timing.away;
        (!self.gate.is_away()).then_some(closes_at)
    }

    /// When the coordinator may have lent our trials to others.
    fn fenced_at(&self) -> Instant {
        self.renewed + self.self_fence
    }

    fn claim_if_wanted(&mut self) {
        if !self.claim_open && self.executor.wanted() > 0 && Instant::now() >= self.not_before {
            self.executor.pace(Instant::now());
            self.claim += 1;
            self.claim_open = true;
            self.say_claim();
        }
    }

    fn begin_drain(&mut self) {
        if self.leaving.is_none() {
            self.leaving = Some(Instant::now() + self.config.timing.grace);
            let given_back = self.executor.give_back_unstarted();
            self.release(given_back, false);
        }
    }

    fn give_up_running(&mut self) {
        let given_up = self.executor.give_up_running();
        self.release(given_up, true);
    }

    /// Others get what this worker does not use any more, so calls in flight have to end first.
    fn answer_share(&mut self) {
        if let Some(share) = self.share.take_if(|_| self.executor.keeps_to_share()) {
            self.say(Word::ShareTaken(share));
        }
    }

    fn say_claim(&mut self) {
        let (want, idle) = (self.executor.wanted().max(1), self.executor.idle());
        self.say(Word::Claim(v1::Claim { number: self.claim, want, idle }));
    }

    fn say_beat(&mut self) {
        if self.unsaid.iter().any(|word| matches!(word, Word::Beat(_))) {
            // The link takes nothing; a second beat would not arrive earlier.
            return;
        }
        let now = Instant::now();
        let brief = now < self.list_at;
        let held = match brief {
            true => Vec::new(),
            false => self.executor.held(&self.outbox.unacknowledged_attempts()),
        };
        if !brief {
            self.list_at = now + pause_after(&held);
        }
        self.unanswered.push_back(now);
        self.say(Word::Beat(v1::Beat { held, unsettled_nanos: self.executor.unsettled_nanos(), brief }));
    }

    fn say_begun(&mut self, trials: Vec<v1::Held>) {
        if !trials.is_empty() {
            self.say(Word::Begun(v1::Begun { trials }));
        }
    }

    fn release(&mut self, trials: Vec<v1::Held>, begun: bool) {
        if !trials.is_empty() {
            self.say(Word::Release(v1::Release { trials, begun }));
        }
    }

    fn say(&mut self, word: Word) {
        self.unsaid.push_back(word);
    }

    /// What is said next. Batches come last: a beat must not wait behind what a slow store keeps back.
    fn next_word(&mut self) -> Option<Word> {
        if let Some(word) = self.unsaid.pop_front() {
            return Some(word);
        }
        if !self.flushing || !self.pipe.has_room() {
            return None;
        }
        let word = self.pipe.next(|| self.outbox.next(), Instant::now());
        self.flushing = word.is_some();
        word
    }

    /// Says what is left to say, and waits until it was heard.
    async fn farewell(
        &mut self,
        words: mpsc::Sender<v1::WorkerMessage>,
        mut orders: Streaming<v1::CoordinatorMessage>,
    ) {
        let heard = async {
            for word in self.unsaid.drain(..) {
                if words.send(v1::WorkerMessage { body: Some(word) }).await.is_err() {
                    return;
                }
            }
            drop(words);
            while let Some(Ok(_)) = orders.next().await {}
        };
        // A coordinator that does not hear it finds out by itself, a little later.
        let _ = timeout(FAREWELL, heard).await;
    }
}

/// How long the next beats leave the list out: it takes so many bytes a second at most, and comes often enough.
fn pause_after(held: &[v1::Held]) -> Duration {
    let bytes: usize = held.iter().map(|held| held.run.len() + HELD_BYTES).sum();
    match u64::try_from(bytes / LIST_BYTES_A_SECOND) {
        Ok(seconds) => Duration::from_secs(seconds).min(LONGEST_PAUSE),
        Err(_) => LONGEST_PAUSE,
    }
}

/// Whether the coordinator says that the session does not live any more.
fn is_over(status: &tonic::Status) -> bool {
    matches!(status.code(), tonic::Code::FailedPrecondition | tonic::Code::NotFound)
}

/// Never, where there is no such time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn held_of(lease: &v1::Lease) -> v1::Held {
    v1::Held { run: lease.run.clone(), first: lease.first, end: lease.end, epoch: lease.epoch }
}
