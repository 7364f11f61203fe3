//! Heartbeats: they renew the session, and list the trials that the worker holds.

use std::{collections::VecDeque, time::Duration};

use proto::v1;
use tokio::time::Instant;

/// Bytes of a range of trials on the wire, without the name of its run.
const HELD_BYTES: usize = 16;
/// How much of a slow link the lists may use.
const LIST_BYTES_A_SECOND: usize = 512;
/// The longest time without a list. The coordinator takes back trials that were not listed for 30 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// However short the interval that a coordinator asks for.
const SHORTEST_INTERVAL_MILLIS: u32 = 50;

#[derive(Debug)]
pub(super) struct Heartbeats {
    pub(super) interval: Duration,
    /// When the unanswered heartbeats of this stream were sent. The coordinator answers them in order.
    unanswered: VecDeque<Instant>,
    /// When the last answered heartbeat was sent. The coordinator renews the session when it arrives, which is later, so
    /// counting from here is safe.
    renewed: Instant,
    /// The next heartbeat after this time lists the held trials.
    list_at: Instant,
    /// How long after `renewed` the session is certainly alive.
    self_fence: Duration,
}

impl Heartbeats {
    pub(super) fn new(joined: &v1::JoinReply, self_fence: Duration, now: Instant) -> Self {
        let ttl = Duration::from_millis(u64::from(joined.ttl_millis));
        Self {
            interval: Duration::from_millis(u64::from(joined.beat_millis.max(SHORTEST_INTERVAL_MILLIS))),
            unanswered: VecDeque::new(),
            renewed: now,
            list_at: now,
            // Two thirds of what the coordinator waits: the worker must stop before the coordinator leases its trials to
            // others, and their clocks may run at different speeds.
            self_fence: self_fence.min(ttl * 2 / 3),
        }
    }

    /// A new stream: its first heartbeat lists the held trials.
    pub(super) fn restart(&mut self, now: Instant) {
        self.unanswered.clear();
        self.list_at = now;
    }

    /// The coordinator has accepted the session. `hello_sent`: when this stream sent its Hello.
    pub(super) fn welcomed(&mut self, hello_sent: Instant) {
        self.renewed = hello_sent;
    }

    /// Whether the next heartbeat leaves out the list.
    pub(super) fn is_brief(&self, now: Instant) -> bool {
        now < self.list_at
    }

    /// A heartbeat is sent. `listed`: the trials that it lists.
    pub(super) fn sent(&mut self, now: Instant, listed: Option<&[v1::Held]>) {
        self.unanswered.push_back(now);
        if let Some(held) = listed {
            self.list_at = now + pause_after(held);
        }
    }

    /// Returns when the heartbeat was sent that is answered now.
    pub(super) fn answered(&mut self) -> Option<Instant> {
        let sent = self.unanswered.pop_front()?;
        self.renewed = self.renewed.max(sent);
        Some(sent)
    }

    /// When the last answered heartbeat was sent.
    pub(super) fn renewed(&self) -> Instant {
        self.renewed
    }

    /// The time from which the coordinator may have leased our trials to others.
    pub(super) fn fenced_at(&self) -> Instant {
        self.renewed + self.self_fence
    }
}

/// How long the next heartbeats leave the list out, so that lists stay below [`LIST_BYTES_A_SECOND`].
fn pause_after(held: &[v1::Held]) -> Duration {
    let bytes: usize = held.iter().map(|held| held.run.len() + HELD_BYTES).sum();
    match u64::try_from(bytes / LIST_BYTES_A_SECOND) {
        Ok(seconds) => Duration::from_secs(seconds).min(LONGEST_PAUSE),
        Err(_) => LONGEST_PAUSE,
    }
}
