//! What the answers of an endpoint do to its limiter: episodes of 429s, adaptive concurrency and the circuit breaker.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    breaker::{Ended, Pass},
    episodes::Episode,
    limiter::Limiter,
};
use crate::Error;

impl Limiter {
    /// Waits while the circuit breaker is open.
    pub(super) async fn pass(&self) -> Pass {
        self.breaker.pass().await
    }

    /// A call behind the breaker is over. `None`: the endpoint was not asked.
    pub(super) fn passed(&self, pass: Pass, how: Option<Ended>) {
        let Some(how) = how else { return };
        if pass.ended(how) {
            if let Some(reason) = self.breaker.closed_to_new() {
                tracing::warn!(limit = self.name(), reason, "calls wait: the circuit breaker is open");
            } else {
                tracing::info!(limit = self.name(), "the endpoint answers again: the circuit breaker is closed");
            }
            self.tell();
        }
    }

    /// Why nothing that needs the endpoint should begin now; `None`: it may.
    #[must_use]
    pub fn closed_to_new(&self) -> Option<String> {
        self.breaker.closed_to_new()
    }

    /// Whether the circuit breaker is open, or half open.
    #[must_use]
    pub fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// The calls at the same time that the whole fleet may make, as adaptive concurrency found; `None`: it is not adaptive.
    #[must_use]
    pub fn adaptive_level(&self) -> Option<u64> {
        Some(lock(self.adaptive.as_ref()?).level())
    }

    /// A call got a 429. `pause`: what it asked for.
    pub(super) fn throttled(&self, pause: Option<Duration>) {
        let (now, pause) = (Instant::now(), pause.unwrap_or_default());
        self.pause(pause);
        self.cut(pause, now);
        if lock(&self.episodes).begins(pause, now) {
            self.tell();
        }
    }

    /// An answer says that a window of the provider is used up for so long.
    pub(super) fn used_up(&self, pause: Duration) {
        self.pause(pause);
        if lock(&self.episodes).begins(pause, Instant::now()) {
            self.tell();
        }
    }

    /// Another worker got a 429, or saw a window used up.
    pub fn throttled_elsewhere(&self, pause: Duration) {
        let now = Instant::now();
        self.pause(pause);
        self.cut(pause, now);
        lock(&self.episodes).follows(pause, now);
    }

    /// The last episode that this process saw first.
    #[must_use]
    pub fn episode(&self) -> Episode {
        lock(&self.episodes).last(Instant::now())
    }

    fn cut(&self, pause: Duration, now: Instant) {
        if let Some((adaptive, slots)) = self.adaptive.as_ref().zip(self.slots.as_ref()) {
            let mut adaptive = lock(adaptive);
            if adaptive.throttled(pause, now) {
                slots.set_most(adaptive.level());
            }
        }
    }

    /// A call was answered.
    pub(super) fn answered(&self) {
        if let Some((adaptive, slots)) = self.adaptive.as_ref().zip(self.slots.as_ref()) {
            let mut adaptive = lock(adaptive);
            if adaptive.answered(slots.size()) {
                slots.set_most(adaptive.level());
            }
        }
    }

    /// A call found all slots taken.
    pub(super) fn waits_for_slot(&self) {
        self.adaptive.iter().for_each(|adaptive| lock(adaptive).is_full());
    }
}

/// How a try ended for the breaker; `None`: the endpoint was not asked, or it is not to blame.
pub(super) fn ended<T>(outcome: &Result<T, Error>) -> Option<Ended> {
    match outcome {
        Ok(_) => Some(Ended::Answered),
        Err(error) => match error {
            Error::TimedOut { .. } | Error::Malformed { .. } | Error::Unreachable { .. } => Some(Ended::Failed),
            Error::Refused { .. } | Error::Unsupported { .. } | Error::Throttled { .. } | Error::Exhausted { .. } => {
                Some(Ended::Answered)
            }
            Error::OutOfResources { .. }
            | Error::NoMoney { .. }
            | Error::Unwritable { .. }
            | Error::NoKey { .. }
            | Error::NotRecorded { .. } => None,
        },
    }
}

/// The numbers are consistent even if a holder of the lock panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
