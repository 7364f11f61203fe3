//! Claims for trials: one at a time, and none for a while after the coordinator had nothing.

use std::time::Duration;

use proto::v1;
use tokio::time::Instant;

/// Between two claims, where the last one brought trials that this worker cannot play.
const DECLINED: Duration = Duration::from_secs(1);
/// However soon a coordinator wants the next claim.
const SHORTEST_PAUSE_MILLIS: u32 = 10;

#[derive(Debug)]
pub(super) struct Claims {
    /// The number of the last claim.
    number: u64,
    /// The last claim has no answer yet.
    open: bool,
    /// No claim before this.
    pub(super) not_before: Instant,
}

impl Claims {
    pub(super) fn new(now: Instant) -> Self {
        Self { number: 0, open: false, not_before: now }
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

    /// The coordinator had nothing.
    pub(super) fn came_to_nothing(&mut self, retry_millis: u32) {
        let pause = Duration::from_millis(u64::from(retry_millis.max(SHORTEST_PAUSE_MILLIS)));
        self.not_before = Instant::now() + pause;
    }

    pub(super) fn declined(&mut self) {
        self.not_before = Instant::now() + DECLINED;
    }

    /// The message of the open claim.
    pub(super) fn message(&self, want: u32, idle: u32) -> v1::Claim {
        v1::Claim { number: self.number, want, idle }
    }
}
