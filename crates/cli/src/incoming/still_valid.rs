//! A connection ends with the certificate that opened it: it expires, or is revoked.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pki::{Authority, Caller};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::clock;

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct StillValid {
    authority: Arc<Authority>,
    caller: Caller,
    looks: Interval,
}

impl StillValid {
    pub(super) fn new(authority: Arc<Authority>, caller: Caller) -> Self {
        // Not at once: the call that comes first is refused with a reason.
        let mut looks = interval_at(Instant::now() + PERIOD, PERIOD);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { authority, caller, looks }
    }

    /// Ready when the connection must end, with the reason.
    pub(super) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        while self.looks.poll_tick(cx).is_ready() {
            let expired = clock::now_millis() / 1_000 >= self.caller.expires_at;
            let reason = match (expired, self.authority.is_revoked(&self.caller.identity)) {
                (true, _) => "its certificate has expired",
                (_, true) => "its certificate is revoked",
                _ => continue,
            };
            tracing::info!(caller = self.caller.identity.name, reason, "a connection is closed");
            return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
        }
        Poll::Pending
    }
}
