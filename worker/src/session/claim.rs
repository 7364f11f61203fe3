//! Claims for trials: one at a time, and none for a while after the coordinator had nothing.

use std::time::Duration;

use proto::v1;
use tokio::time::Instant;

/// The pause before the next claim after a lease that this worker cannot play.
const DECLINED: Duration = Duration::from_secs(1);
/// The shortest pause between claims, whatever the coordinator asks for.
const SHORTEST_PAUSE_MILLIS: u32 = 10;

#[derive(Debug)]
pub(super) struct Claims {
    /// The number of the last claim.
    number: u64,
    /// The last claim has no answer yet.
    open: bool,
    /// When it was last ready to be sent.
    asked: Instant,
    /// No claim before this.
    pub(super) not_before: Instant,
}

impl Claims {
    pub(super) fn new(now: Instant) -> Self {
        Self { number: 0, open: false, asked: now, not_before: now }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn may_begin(&self, now: Instant) -> bool {
        !self.open && now >= self.not_before
    }

    pub(super) fn begin(&mut self) {
        self.number += 1;
        self.open = true;
    }

    /// Whether this grant answers the open claim. A grant for an earlier claim, from a stream that broke, does not.
    pub(super) fn is_answered_by(&mut self, grant: &v1::Grant) -> bool {
        let answers = self.open && grant.claim == self.number;
        if answers {
            self.open = false;
        }
        answers
    }

    /// The coordinator had no trials.
    pub(super) fn came_to_nothing(&mut self, retry_millis: u32) {
        let pause = Duration::from_millis(u64::from(retry_millis.max(SHORTEST_PAUSE_MILLIS)));
        self.not_before = Instant::now() + pause;
    }

    pub(super) fn declined(&mut self) {
        self.not_before = Instant::now() + DECLINED;
    }

    /// The message of the open claim, which is sent now.
    pub(super) fn message(&mut self, want: u32, idle: u32, ahead: u32) -> v1::Claim {
        self.asked = Instant::now();
        v1::Claim { number: self.number, want, idle, ahead }
    }

    pub(super) fn asked(&self) -> Instant {
        self.asked
    }
}
