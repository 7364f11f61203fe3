//! The gate before an endpoint: one at a time through the turnstile, each with leave for one call.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use super::{Settings, requests::Requests, tokens::Tokens};

/// Far above what one process can hold in flight, and below what a semaphore can count.
const MOST_SLOTS: usize = 1 << 20;

/// The limits of one endpoint, with what has been used of them.
#[derive(Debug)]
pub struct Limit {
    slots: Option<Arc<Semaphore>>,
    requests: Option<Requests>,
    tokens: Option<Tokens>,
    /// One call waits on the clock, the others in line behind it. All waiting on the clock would wake together
    /// for each request that can start, and the last could starve.
    turnstile: Mutex<()>,
    born: Instant,
    /// Nobody starts before then, in microseconds since `born`; 0 when never paused.
    paused_until_micros: AtomicU64,
}

/// Leave for one call. Dropped without being settled, it keeps what was estimated: the call may have used it.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<Limit>,
    estimate: u64,
    waited: Duration,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Limit {
    #[must_use]
    pub fn new(settings: &Settings) -> Arc<Self> {
        let burst = settings.burst.unwrap_or(NonZeroU32::MIN);
        let slots = settings.concurrency.map(|most| {
            let most = usize::try_from(most.get()).map_or(MOST_SLOTS, |most| most.min(MOST_SLOTS));
            Arc::new(Semaphore::new(most))
        });
        Arc::new(Self {
            slots,
            requests: settings.requests_per_minute.map(|rate| Requests::new(rate, burst)),
            tokens: settings.tokens_per_minute.map(Tokens::new),
            turnstile: Mutex::new(()),
            born: Instant::now(),
            paused_until_micros: AtomicU64::new(0),
        })
    }

    /// Whether an estimate makes a difference.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Waits for leave for one call that will use about `estimate` tokens (input and output).
    /// To stop waiting, drop the future: nothing was taken then.
    pub async fn acquire(self: &Arc<Self>, estimate: u64) -> Permit {
        let began = Instant::now();
        // The slot comes first: who holds a request and then waits for a slot could start late, in a crowd.
        let slot = match &self.slots {
            Some(slots) => Some(Arc::clone(slots).acquire_owned().await.expect("the semaphore is never closed")),
            None => None,
        };
        if self.requests.is_some() || self.tokens.is_some() {
            let _turn = self.turnstile.lock().await;
            if let Some(tokens) = &self.tokens {
                tokens.clear().await;
            }
            self.pause_over().await;
            if let Some(requests) = &self.requests {
                requests.take().await;
            }
            // A pause may have begun while the request was waited for.
            self.pause_over().await;
            if let Some(tokens) = &self.tokens {
                tokens.take(estimate);
            }
        } else {
            self.pause_over().await;
        }
        Permit { limit: Arc::clone(self), estimate, waited: began.elapsed(), _slot: slot }
    }

    /// Lets nobody start for so long: the endpoint said 429. Shortens no pause that lasts already.
    pub fn pause(&self, time: Duration) {
        let until = self.born.elapsed().saturating_add(time);
        let micros = u64::try_from(until.as_micros()).unwrap_or(u64::MAX);
        self.paused_until_micros.fetch_max(micros, Ordering::Relaxed);
    }

    /// How long the pause lasts still; `None` when there is none.
    #[must_use]
    pub fn paused_for(&self) -> Option<Duration> {
        let until = Duration::from_micros(self.paused_until_micros.load(Ordering::Relaxed));
        if until.is_zero() {
            return None;
        }
        until.checked_sub(self.born.elapsed()).filter(|left| !left.is_zero())
    }

    async fn pause_over(&self) {
        while let Some(left) = self.paused_for() {
            let now = Instant::now();
            // In pieces: an instant cannot hold what a hostile `Retry-After` may say.
            sleep_until(now + left.min(Duration::from_secs(3_600))).await;
        }
    }
}

impl Permit {
    /// How long the call waited for it: beside the latency, never inside.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// The call is over and used `actual` tokens.
    pub fn settle(self, actual: u64) {
        if let Some(tokens) = &self.limit.tokens {
            match actual.checked_sub(self.estimate) {
                Some(more) => tokens.take(more),
                None => tokens.give_back(self.estimate - actual),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    fn limit(requests: u32, tokens: u64, concurrency: u32, burst: u32) -> Arc<Limit> {
        Limit::new(&Settings {
            requests_per_minute: NonZeroU32::new(requests),
            tokens_per_minute: NonZeroU64::new(tokens),
            concurrency: NonZeroU32::new(concurrency),
            burst: NonZeroU32::new(burst),
        })
    }

    /// Starts of `calls` calls that all ask at once, each held for `held` and settled at `actual`.
    async fn starts(limit: &Arc<Limit>, calls: usize, estimate: u64, actual: u64, held: Duration) -> Vec<Duration> {
        let began = Instant::now();
        let mut tasks = Vec::new();
        for _ in 0..calls {
            let limit = Arc::clone(limit);
            tasks.push(tokio::spawn(async move {
                let permit = limit.acquire(estimate).await;
                let at = began.elapsed();
                assert_eq!(permit.waited(), at);
                tokio::time::sleep(held).await;
                permit.settle(actual);
                at
            }));
        }
        let mut starts = Vec::new();
        for task in tasks {
            starts.push(task.await.expect("no panic"));
        }
        starts.sort();
        starts
    }

    fn most_in_a_minute(starts: &[Duration]) -> usize {
        let minute = Duration::from_secs(60);
        starts
            .iter()
            .map(|first| starts.iter().filter(|at| **at >= *first && **at < *first + minute).count())
            .max()
            .unwrap_or(0)
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_sees_more_requests_than_the_limit() {
        let starts = starts(&limit(60, 0, 0, 0), 600, 1, 1, Duration::ZERO).await;
        assert_eq!(most_in_a_minute(&starts), 60);
        let last = starts.last().expect("some").as_secs_f64();
        assert!((599.0..=600.0).contains(&last), "{last}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_starts_at_once() {
        let starts = starts(&limit(60, 0, 0, 10), 30, 1, 1, Duration::ZERO).await;
        assert_eq!(starts.iter().filter(|at| at.is_zero()).count(), 10);
        assert!((19.0..=21.0).contains(&starts[29].as_secs_f64()), "{:?}", starts[29]);
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_owed_and_then_settled() {
        // A call may need more than a minute holds, and the next one pays for it.
        let starts_full = starts(&limit(0, 6_000, 0, 0), 3, 12_000, 12_000, Duration::ZERO).await;
        assert_eq!(starts_full.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 120, 240]);
        // Estimated at a minute each, but used a tenth: whoever waits is let through once that is known.
        let starts_less = starts(&limit(0, 6_000, 0, 0), 3, 6_000, 600, Duration::from_secs(1)).await;
        assert_eq!(starts_less.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 6, 12]);
        // Used ten times as much: the debt grows.
        let starts_more = starts(&limit(0, 6_000, 0, 0), 3, 600, 6_000, Duration::from_secs(1)).await;
        assert_eq!(starts_more.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 60, 120]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_absurd_estimate_is_bounded() {
        let limit = limit(0, 1, 0, 0);
        for _ in 0..3 {
            limit.acquire(u64::MAX).await.settle(u64::MAX);
        }
        limit.acquire(1).await.settle(0);
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_in_flight_and_no_more() {
        let starts = starts(&limit(0, 0, 2, 0), 6, 1, 1, Duration::from_secs(10)).await;
        assert_eq!(starts.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 0, 10, 10, 20, 20]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_everybody() {
        for limit in [limit(0, 0, 0, 0), limit(60_000, 0, 0, 0), limit(0, 60_000_000, 4, 0)] {
            assert_eq!(limit.paused_for(), None);
            limit.pause(Duration::from_secs(30));
            // A shorter one does not end it.
            limit.pause(Duration::from_secs(5));
            assert_eq!(limit.paused_for(), Some(Duration::from_secs(30)));
            let starts = starts(&limit, 3, 1, 1, Duration::ZERO).await;
            assert!(starts.iter().all(|at| at.as_secs() == 30), "{starts:?}");
            assert_eq!(limit.paused_for(), None);
        }
        let endless = limit(0, 0, 0, 0);
        endless.pause(Duration::MAX);
        let waited = tokio::time::timeout(Duration::from_secs(100_000), endless.acquire(1)).await;
        assert!(waited.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_nothing() {
        let limit = limit(0, 6_000, 1, 0);
        let first = limit.acquire(6_000).await;
        let gave_up = tokio::time::timeout(Duration::from_secs(1), limit.acquire(6_000)).await;
        assert!(gave_up.is_err());
        first.settle(0);
        let next = limit.acquire(1).await;
        assert_eq!(next.waited(), Duration::ZERO);
    }
}
