//! Requests per minute: governor, on the clock of the runtime so that a paused clock moves it.

use std::{num::NonZeroU32, ops::Add, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, Reference},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed},
};
use tokio::time::{Instant, sleep};

#[derive(Debug)]
pub(super) struct Requests {
    limiter: RateLimiter<NotKeyed, InMemoryState, RuntimeClock, NoOpMiddleware<Tick>>,
}

impl Requests {
    pub(super) fn new(per_minute: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        Self { limiter: RateLimiter::direct_with_clock(quota, RuntimeClock) }
    }

    /// Takes one request, when there is one to take.
    pub(super) async fn take(&self) {
        // Not `until_ready`: it sleeps on a clock of its own.
        while let Err(refusal) = self.limiter.check() {
            sleep(refusal.wait_time_from(RuntimeClock.now())).await;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct RuntimeClock;

impl Clock for RuntimeClock {
    type Instant = Tick;

    fn now(&self) -> Tick {
        Tick(Instant::now())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tick(Instant);

impl Add<Nanos> for Tick {
    type Output = Self;

    fn add(self, nanos: Nanos) -> Self {
        Self(self.0 + Duration::from(nanos))
    }
}

impl Reference for Tick {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_duration_since(earlier.0).into()
    }

    fn saturating_sub(&self, nanos: Nanos) -> Self {
        Self(self.0.checked_sub(nanos.into()).unwrap_or(self.0))
    }
}
