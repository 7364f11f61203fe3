//! One session with the coordinator: claim, send heartbeats and results, come back after a broken stream.

use std::{pin::pin, sync::Arc, time::Duration};

use proto::{
    Transport,
    v1::{self, coordinator_client::CoordinatorClient, worker_message::Body as Word},
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{Status, Streaming};

use super::{
    claim::Claims,
    config::{Config, Drain, RECONNECT},
    coordinator_clock::CoordinatorClock,
    heartbeat::Heartbeats,
    limits::{Said, Shares},
    machine::Machine,
    outgoing::Outgoing,
};
use crate::{admission::Admission, executor::Executor, outbox::Outbox, pacer::Pacer, purse};

/// Results wait at most this long for others to share their batch: a commit costs the same for one as for hundreds.
const LINGER: Duration = Duration::from_millis(800);
/// The same while the end of a conversation frees a slot for another.
const SHORT_LINGER: Duration = Duration::from_millis(10);
/// How long the last message may take to arrive.
const FAREWELL: Duration = Duration::from_secs(1);
/// Between two looks at whether calls beyond a smaller share have ended.
const SETTLING: Duration = Duration::from_millis(20);
/// Messages that may wait in the channel to the stream. Batches that do not fit stay in the outbox.
const CHANNEL_WORDS: usize = 64;

/// Why a stream or a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Open another stream for the same session.
    Broken,
    /// Join again: the session is over.
    Over,
    /// The coordinator was away for too long.
    Lost,
    /// Everything is sent and acknowledged.
    Drained,
}

pub(super) struct Session<'a> {
    pub(super) id: u64,
    /// Proves on each stream that the session is ours.
    token: bytes::Bytes,
    pub(super) heartbeats: Heartbeats,
    pub(super) claims: Claims,
    pub(super) outgoing: Outgoing,
    pub(super) coordinator_clock: CoordinatorClock,
    pacer: Pacer,
    machine: Machine,
    /// Since when there is no stream that the coordinator has welcomed.
    pub(super) apart: Option<Instant>,
    /// Whether there ever was such a stream.
    pub(super) welcomed: bool,
    /// While a drain lasts: when running trials are given up.
    pub(super) leaving: Option<Instant>,
    /// No heartbeat was answered for so long that the coordinator may have leased our trials to others.
    pub(super) fenced: bool,
    /// Trials that were given up then, and whether they had begun: the coordinator hears of them when it is back.
    pub(super) given_up: Vec<(Vec<v1::Held>, bool)>,
    /// Why the last try to open a stream failed.
    pub(super) trouble: String,
    /// What was said of the limits on this stream.
    pub(super) limits: Said,
    pub(super) shares: Shares,
    config: &'a Config,
    pub(super) client: &'a mut CoordinatorClient<Transport>,
    pub(super) executor: &'a mut Executor,
    pub(super) outbox: &'a Outbox,
    pub(super) admission: &'a Admission,
}

/// A stream that the coordinator has accepted.
struct Stream {
    words: mpsc::Sender<v1::WorkerMessage>,
    orders: Streaming<v1::CoordinatorMessage>,
    hello_sent: Instant,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        joined: &v1::JoinReply,
        config: &'a Config,
        client: &'a mut CoordinatorClient<Transport>,
        executor: &'a mut Executor,
        outbox: &'a Outbox,
        admission: &'a Admission,
    ) -> Self {
        let now = Instant::now();
        let session = Self {
            id: joined.session,
            token: joined.token.clone(),
            heartbeats: Heartbeats::new(joined, config.timing.self_fence, now),
            claims: Claims::new(now),
            outgoing: Outgoing::new(),
            coordinator_clock: CoordinatorClock::default(),
            pacer: Pacer::new(config.timer),
            machine: Machine::new(now),
            apart: Some(now),
            welcomed: false,
            leaving: None,
            fenced: false,
            given_up: Vec::new(),
            trouble: "it does not answer".to_owned(),
            limits: Said::default(),
            shares: Shares::default(),
            config,
            client,
            executor,
            outbox,
            admission,
        };
        session.renew_calls();
        session
    }

    /// Lives over as many streams as it takes.
    pub(super) async fn live(&mut self, drain: &Drain) -> End {
        loop {
            let end = match self.open_stream().await {
                Ok(stream) => self.follow(stream, drain).await,
                Err(end) => end,
            };
            self.executor.connected(false);
            if end != End::Broken {
                return end;
            }
            if self.apart.is_none() {
                tracing::info!(
                    session = self.id,
                    "the coordinator went away: running conversations continue for a while"
                );
                self.apart = Some(Instant::now());
            }
            if drain.begin.is_cancelled() && self.executor.is_idle() && self.outbox.is_empty() {
                return End::Drained;
            }
            // Trials continue for a moment, so a quick restart of the coordinator costs nothing.
            if self.reach(sleep(RECONNECT)).await.is_none() && self.silent() == End::Lost {
                return End::Lost;
            }
        }
    }

    async fn open_stream(&mut self) -> Result<Stream, End> {
        self.outgoing.reopen();
        self.heartbeats.restart(Instant::now());
        self.coordinator_clock.forget();
        self.outbox.rewind();
        // Meanwhile the coordinator may have given our share to others.
        self.executor.set_no_share();
        self.shares = Shares::default();
        self.limits = Said::default();
        let (words, outgoing) = mpsc::channel(CHANNEL_WORDS);
        let hello_sent = Instant::now();
        let hello = v1::Hello {
            session: self.id,
            agents: self.executor.agents(),
            slots: self.config.slots,
            worker: self.config.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: self.token.clone(),
            protocol: proto::PROTOCOL,
        };
        words.try_send(v1::WorkerMessage { body: Some(Word::Hello(hello)) }).map_err(|_| End::Broken)?;
        let mut client = self.client.clone();
        match self.reach(client.work(ReceiverStream::new(outgoing))).await {
            Some(Ok(reply)) => Ok(Stream { words, orders: reply.into_inner(), hello_sent }),
            Some(Err(status)) => {
                self.trouble = proto::reason(&status);
                Err(end_of(&status))
            }
            None => Err(self.silent()),
        }
    }

    /// Waits for the next event on a stream and handles it, until the stream ends.
    ///
    /// Each arm of the `select!` has a guard that keeps it from running too early, or from spinning:
    ///
    /// - Before the coordinator's welcome (`welcome`) the worker only listens. It does not know yet whether the session
    ///   lives, so heartbeats, claims and results wait, and a drain begins with the welcome.
    /// - Arrivals start when they are due, even before a heartbeat or a batch is sent. If none waits, there is no
    ///   time to wait for.
    /// - `words.reserve()` is always ready while the channel has room, so it is asked only when there is something to
    ///   send. Heartbeats and releases go at once; batches go while `outgoing` flushes and the pipe has room.
    /// - `outbox.wait()` is ready as long as the outbox has a batch to give. It runs only while no flush is planned or under
    ///   way, and plans one (`flush_at`), so that the results of the next moment share a batch.
    /// - The time of the next claim only wakes the loop; [`Self::catch_up`] makes the claim. Without its guard a time in
    ///   the past would wake it for ever. The same holds for the drain, which stays cancelled once it is.
    /// - Running trials are given up when the drain's time is over or the operator hurries. The guard on `busy` ends
    ///   both arms once nothing runs.
    /// - A worker that has given up its conversations opens another stream if the coordinator does not welcome it on this one.
    /// - The last two arms have no guard: whatever else happens, calls stop when the coordinator is away for a second,
    ///   and conversations before the coordinator leases their trials to others.
    async fn follow(&mut self, mut stream: Stream, drain: &Drain) -> End {
        let mut ticks = interval(self.heartbeats.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut flush_at: Option<Instant> = None;
        let purses = Arc::clone(self.executor.purses());
        let limits_have_news = self.report_limits();
        loop {
            self.executor.count_for_purses();
            self.executor.show_messages(CHANNEL_WORDS - stream.words.capacity());
            let welcome = self.apart.is_none();
            if welcome && self.catch_up(drain) {
                self.farewell(stream).await;
                return End::Drained;
            }
            let leaves = self.leaving.is_some();
            let claims_later = welcome && !leaves && !self.claims.is_open() && self.executor.wants(Instant::now());
            let next_start = self.executor.next_start().filter(|_| !self.admission.is_away());
            let running = self.executor.busy() > 0;
            let (closes_at, silent_at) = (self.closes_at(), self.silent_at());
            let unwelcome_at = stream.hello_sent + self.config.timing.self_fence;
            let lapses_at = self.shares.lapse_at(self.heartbeats.renewed());
            // Without conversations there is nothing to share a batch with, and a full batch needs no more.
            if flush_at.is_some() && (self.executor.is_idle() || self.outbox.is_heavy()) {
                flush_at = None;
                self.outgoing.flush();
            }
            tokio::select! {
                order = stream.orders.next() => {
                    if let Some(end) = self.hear(order, stream.hello_sent).await {
                        return end;
                    }
                }
                room = stream.words.reserve(), if welcome && self.outgoing.has_next() => {
                    let Ok(room) = room else { return End::Broken };
                    if let Some(word) = self.outgoing.next(self.outbox) {
                        fail::fail_point!("message-unsent");
                        room.send(v1::WorkerMessage { body: Some(word) });
                        fail::fail_point!("message-sent");
                    }
                }
                () = self.executor.finished() => self.executor.start_ready(),
                () = purses.news(), if welcome => self.say_money(),
                () = limits_have_news.notified(), if welcome => self.limits_changed(),
                () = self.pacer.wait_until(next_start), if next_start.is_some() => self.executor.start_ready(),
                () = self.outbox.wait(), if welcome && !self.outgoing.is_flushing() && flush_at.is_none() => {
                    let linger = match self.executor.shares_slots() {
                        _ if self.outbox.is_heavy() => Duration::ZERO,
                        true => SHORT_LINGER,
                        false => LINGER,
                    };
                    flush_at = Some(Instant::now() + linger);
                }
                () = at(flush_at) => {
                    flush_at = None;
                    self.outgoing.flush();
                }
                due = ticks.tick(), if welcome => self.say_heartbeat(due),
                () = sleep_until(self.claims.not_before), if claims_later => {}
                () = drain.begin.cancelled(), if welcome && !leaves => {}
                () = drain.hurry.cancelled(), if welcome && leaves && running => self.give_up_running(),
                () = at(self.leaving), if welcome && running => self.give_up_running(),
                () = sleep(SETTLING), if self.shares.are_unsettled() => self.answer_shares(),
                () = at(lapses_at) => self.let_shares_lapse(),
                () = sleep_until(unwelcome_at), if self.fenced => return End::Broken,
                () = at(closes_at) => self.set_away(true),
                () = sleep_until(silent_at) => return self.silent(),
            }
        }
    }

    /// Sends what is due: trials that have begun, a claim, or the farewell. Returns whether the worker leaves.
    fn catch_up(&mut self, drain: &Drain) -> bool {
        let begun = self.executor.take_begun();
        self.outgoing.say_begun(begun);
        if drain.begin.is_cancelled() {
            self.begin_drain();
        }
        if self.leaving.is_none() {
            self.claim_if_wanted();
            return false;
        }
        let done = self.executor.is_idle() && self.outbox.is_empty();
        if done {
            self.executor.count_for_purses();
            self.say_money();
            self.say_limits(Said::FAREWELL);
            self.outgoing.say(Word::Leave(v1::Leave {}));
        }
        done
    }

    /// `Some`: the stream is over.
    async fn hear(
        &mut self,
        order: Option<Result<v1::CoordinatorMessage, Status>>,
        hello_sent: Instant,
    ) -> Option<End> {
        match order {
            Some(Ok(message)) => self.obey(message.body?, hello_sent).await,
            Some(Err(status)) => Some(end_of(&status)),
            None => Some(End::Broken),
        }
    }

    /// Waits for a coordinator that may be away. Trials continue until it has been away for too long. `None`: it is
    /// [`Self::silent`].
    pub(super) async fn reach<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        let mut answer = pin!(answer);
        loop {
            let (closes_at, silent_at) = (self.closes_at(), self.silent_at());
            let next_start = self.executor.next_start().filter(|_| !self.admission.is_away());
            tokio::select! {
                answer = &mut answer => return Some(answer),
                () = self.pacer.wait_until(next_start), if next_start.is_some() => self.executor.start_ready(),
                () = self.executor.finished() => {
                    if !self.admission.is_away() {
                        self.executor.start_ready();
                    }
                }
                () = at(closes_at) => self.set_away(true),
                () = sleep_until(silent_at) => return None,
            }
        }
    }

    /// When the coordinator has been silent for too long: first for conversations, then for the worker.
    fn silent_at(&self) -> Instant {
        let fenced_at = self.heartbeats.fenced_at();
        if self.fenced { fenced_at + self.config.timing.patience } else { fenced_at }
    }

    /// It has been. Trials are given up, since it may have leased them to others. What has ended stays in the outbox, and is
    /// delivered on the next stream unless the coordinator says that the session is over.
    pub(super) fn silent(&mut self) -> End {
        if self.fenced {
            return End::Lost;
        }
        tracing::warn!(session = self.id, "the coordinator is silent: running conversations are given up");
        self.fenced = true;
        self.given_up.push((self.executor.give_back_unstarted(), false));
        self.given_up.push((self.executor.give_up_running(), true));
        End::Broken
    }

    /// A conversation that waits to repeat a call starts nothing either.
    pub(super) fn set_away(&self, away: bool) {
        self.admission.set_away(away);
        self.executor.limits().iter().for_each(|limit| limit.hold(away));
    }

    /// Calls may start until the coordinator may lease our trials to others.
    pub(super) fn renew_calls(&self) {
        let at = self.heartbeats.fenced_at();
        self.admission.lapse_at(at);
        self.executor.limits().iter().for_each(|limit| limit.lapse_at(at));
    }

    /// When calls must stop, if that time has not come yet.
    fn closes_at(&self) -> Option<Instant> {
        let closes_at = self.apart? + self.config.timing.away;
        (!self.admission.is_away()).then_some(closes_at)
    }

    fn claim_if_wanted(&mut self) {
        let now = Instant::now();
        if self.executor.wants(now) && self.claims.may_begin(now) {
            self.executor.pace(now);
            self.claims.begin();
            self.say_claim();
        }
    }

    pub(super) fn say_claim(&mut self) {
        let want = match self.executor.wanted() {
            // A claim that is repeated after a stream broke.
            0 if !self.executor.wants(Instant::now()) => 1,
            wanted => wanted,
        };
        let claim = self.claims.message(want, self.executor.idle(), self.executor.ahead());
        self.outgoing.say(Word::Claim(claim));
    }

    /// `due`: when it was to be sent.
    fn say_heartbeat(&mut self, due: Instant) {
        if self.outgoing.has_heartbeat() {
            return;
        }
        let now = Instant::now();
        let runner = Some(self.machine.measured(due, now));
        let brief = self.heartbeats.is_brief(now);
        let held = match brief {
            true => Vec::new(),
            false => self.executor.held(&self.outbox.unacknowledged_attempts()),
        };
        self.heartbeats.sent(now, (!brief).then_some(held.as_slice()));
        self.say_limits(Said::HEARTBEAT);
        // Trials may have waited for an endpoint that may be tried again.
        self.executor.start_held_back();
        self.outgoing.say(Word::Beat(v1::Beat {
            held,
            unsettled_nanos: self.executor.unsettled_nanos(),
            brief,
            runner,
            purses: self.executor.purses().all().into_iter().map(purse::to_wire).collect(),
        }));
    }

    /// Says what has changed of the money that the worker holds.
    fn say_money(&mut self) {
        for purse in self.executor.purses().changed() {
            self.outgoing.say(Word::Purse(purse::to_wire(purse)));
        }
    }

    fn begin_drain(&mut self) {
        if self.leaving.is_none() {
            self.leaving = Some(Instant::now() + self.config.timing.grace);
            let given_back = self.executor.give_back_unstarted();
            self.outgoing.release(given_back, false);
        }
    }

    fn give_up_running(&mut self) {
        let given_up = self.executor.give_up_running();
        self.outgoing.release(given_up, true);
    }

    /// Sends the last messages, and waits until the coordinator has closed the stream.
    async fn farewell(&mut self, stream: Stream) {
        let Stream { words, mut orders, .. } = stream;
        let heard = async {
            for word in self.outgoing.take_words() {
                if words.send(v1::WorkerMessage { body: Some(word) }).await.is_err() {
                    return;
                }
            }
            drop(words);
            while let Some(Ok(_)) = orders.next().await {}
        };
        // A coordinator that does not receive it notices the closed stream a little later.
        let _ = timeout(FAREWELL, heard).await;
    }
}

fn end_of(status: &Status) -> End {
    match status.code() {
        // The coordinator says that the session has ended.
        tonic::Code::FailedPrecondition | tonic::Code::NotFound => End::Over,
        // It no longer accepts the certificate; the next Join gets the reason.
        tonic::Code::PermissionDenied | tonic::Code::Unauthenticated => End::Over,
        _ => End::Broken,
    }
}

/// Never returns if there is no such time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
