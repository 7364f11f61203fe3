//! The rate limiter of one endpoint: each call waits here for its permit.

use std::{
    num::{NonZeroU32, NonZeroU64},
    sync::{
        Arc, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use super::{
    amount::{Amount, Counted},
    bucket::Bucket,
    concurrency::{Slot, Slots},
    settings::Settings,
    share::Share,
    steady::Evidence,
};
use crate::named_limits::{Allowed, Windows};

/// After a pause, a quarter of a minute's worth may start at once under a limit that the provider names: its own
/// windows allow a whole minute's worth.
const BURST_PART: u64 = 4;

/// The limits of one endpoint, with their current use. The provider may add limits that the settings do not have.
#[derive(Debug)]
pub struct Limiter {
    slots: Option<Arc<Slots>>,
    /// One for each of [`Counted::ALL`].
    buckets: [OnceLock<Bucket>; Counted::ALL.len()],
    settings: Settings,
    known: std::sync::Mutex<Known>,
    /// One call waits on the clock, the others queue behind it. If all waited on the clock, all would wake for each
    /// request that may start, and the last could starve.
    turnstile: Mutex<()>,
    born: Instant,
    /// No call starts before then, in microseconds since `born`; 0 when never paused.
    paused_until_micros: AtomicU64,
}

/// Limits from other sources than the settings.
#[derive(Debug)]
struct Known {
    share: Share,
    /// One for each of [`Counted::ALL`].
    evidence: [Evidence; Counted::ALL.len()],
    learned: Allowed,
    /// What the last answer reported.
    reported: Windows,
}

/// Permission for one call. Dropped without being settled, it keeps its estimate: the call may have used it.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<Limiter>,
    estimate: Amount,
    waited: Duration,
    _slot: Option<Slot>,
}

impl Limiter {
    #[must_use]
    pub fn new(settings: &Settings) -> Arc<Self> {
        let burst = settings.burst.unwrap_or(NonZeroU32::MIN);
        Arc::new(Self {
            slots: settings.concurrency.map(|most| Slots::new(most.get().into())),
            buckets: Counted::ALL.map(|counted| {
                let burst = if counted == Counted::Requests { burst.into() } else { NonZeroU64::MIN };
                own(settings, counted).map_or_else(OnceLock::new, |rate| OnceLock::from(Bucket::new(rate, burst)))
            }),
            settings: *settings,
            known: std::sync::Mutex::new(Known {
                share: Share::WHOLE,
                evidence: Default::default(),
                learned: Allowed::default(),
                reported: Windows::default(),
            }),
            turnstile: Mutex::new(()),
            born: Instant::now(),
            paused_until_micros: AtomicU64::new(0),
        })
    }

    /// Sets the part of these limits that this process may use; by default, all. A new share grants nothing twice, and
    /// calls in flight finish.
    pub fn set_share(&self, share: Share) {
        if let Some(slots) = &self.slots {
            slots.set_share(share);
        }
        let mut known = self.known();
        known.share = share;
        for (_, bucket) in self.buckets() {
            bucket.set_share(share);
        }
    }

    /// Takes what an answer reports of the provider's windows. A limit of a minute holds from then on, where the settings
    /// name none or a higher one, unless they say that nothing is learned. Whether a limit is news.
    pub fn learn(&self, reported: &Windows) -> bool {
        let mut known = self.known();
        known.reported = *reported;
        if !self.settings.learn {
            return false;
        }
        let mut is_news = false;
        for (place, (counted, bucket)) in Counted::ALL.into_iter().zip(&self.buckets).enumerate() {
            // A reply without a header takes nothing back.
            let Some(window) = counted.named(reported) else { continue };
            let Some(named) = known.evidence[place].take(window) else { continue };
            if counted.named(&known.learned) == Some(named) {
                continue;
            }
            *counted.named_mut(&mut known.learned) = Some(named);
            is_news = true;
            let rate = own(&self.settings, counted).map_or(named, |own| own.min(named));
            match bucket.get() {
                Some(bucket) => bucket.set_rate(rate),
                None => {
                    let burst = NonZeroU64::new(rate.get() / BURST_PART).unwrap_or(NonZeroU64::MIN);
                    let new = Bucket::new(rate, burst);
                    new.set_share(known.share);
                    let _ = bucket.set(new);
                }
            }
        }
        is_news
    }

    /// The limits of a minute that the provider named so far.
    #[must_use]
    pub fn learned(&self) -> Allowed {
        self.known().learned
    }

    /// The windows that the last answer reported.
    #[must_use]
    pub fn reported(&self) -> Windows {
        self.known().reported
    }

    /// Whether no more calls are in flight than the share allows.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.is_settled())
    }

    /// Whether an estimate makes a difference.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.buckets().any(|(counted, _)| counted != Counted::Requests)
    }

    /// Waits until one call of about this many tokens may start.
    /// To stop waiting, drop the future: it has taken nothing.
    pub async fn acquire(self: &Arc<Self>, estimate: Amount) -> Permit {
        let began = Instant::now();
        // The slot comes first: a call that holds a request and then waits for a slot could start late, in a crowd.
        let slot = match &self.slots {
            Some(slots) => Some(slots.take().await),
            None => None,
        };
        if self.buckets().next().is_some() {
            let _turn = self.turnstile.lock().await;
            // While this call waited for one of these, another may have closed: a pause, or a smaller share.
            while !self.is_open() {
                for (_, bucket) in self.buckets() {
                    bucket.clear().await;
                }
                self.pause_over().await;
            }
            for (counted, bucket) in self.buckets() {
                bucket.take(counted.of(&estimate));
            }
        } else {
            self.pause_over().await;
        }
        Permit { limit: Arc::clone(self), estimate, waited: began.elapsed(), _slot: slot }
    }

    /// Starts no call for this long, since the endpoint answered 429. It never shortens a pause.
    pub fn pause(&self, time: Duration) {
        let until = self.born.elapsed().saturating_add(time);
        let micros = u64::try_from(until.as_micros()).unwrap_or(u64::MAX);
        self.paused_until_micros.fetch_max(micros, Ordering::Relaxed);
    }

    /// The rest of the pause; `None` if there is none.
    #[must_use]
    pub fn paused_for(&self) -> Option<Duration> {
        let until = Duration::from_micros(self.paused_until_micros.load(Ordering::Relaxed));
        if until.is_zero() {
            return None;
        }
        until.checked_sub(self.born.elapsed()).filter(|left| !left.is_zero())
    }

    fn is_open(&self) -> bool {
        self.paused_for().is_none() && self.buckets().all(|(_, bucket)| bucket.is_clear())
    }

    /// The existing buckets.
    fn buckets(&self) -> impl Iterator<Item = (Counted, &Bucket)> {
        Counted::ALL.into_iter().zip(&self.buckets).filter_map(|(counted, bucket)| Some((counted, bucket.get()?)))
    }

    /// It is consistent even if a holder of the lock panicked.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pause_over(&self) {
        while let Some(left) = self.paused_for() {
            let now = Instant::now();
            // In pieces: an instant cannot hold the time of a hostile `Retry-After`.
            sleep_until(now + left.min(Duration::from_secs(3_600))).await;
        }
    }
}

impl Permit {
    /// The rate-limit wait of the call: no part of its latency.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// The call is over and used this many tokens.
    pub fn settle(self, actual: Amount) {
        for (counted, bucket) in self.limit.buckets().filter(|(counted, _)| *counted != Counted::Requests) {
            let (estimate, actual) = (counted.of(&self.estimate), counted.of(&actual));
            match actual.checked_sub(estimate) {
                Some(more) => bucket.take(more),
                None => bucket.give_back(estimate - actual),
            }
        }
    }
}

/// The limit per minute from the settings.
fn own(settings: &Settings, counted: Counted) -> Option<NonZeroU64> {
    match counted {
        Counted::Requests => settings.requests_per_minute.map(NonZeroU64::from),
        Counted::Tokens => settings.tokens_per_minute,
        Counted::Input | Counted::Output => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_limits::Window;

    fn tokens(count: u64) -> Amount {
        Amount { input: count, uncached_input: count, output: 0 }
    }

    fn limit(requests: u32, tokens: u64, concurrency: u32, burst: u32) -> Arc<Limiter> {
        Limiter::new(&Settings {
            requests_per_minute: NonZeroU32::new(requests),
            tokens_per_minute: NonZeroU64::new(tokens),
            concurrency: NonZeroU32::new(concurrency),
            burst: NonZeroU32::new(burst),
            learn: true,
        })
    }

    /// Start times of `calls` simultaneous calls, each held for `held` and settled at `actual`.
    async fn starts(limit: &Arc<Limiter>, calls: usize, estimate: u64, actual: u64, held: Duration) -> Vec<Duration> {
        let began = Instant::now();
        let mut tasks = Vec::new();
        for _ in 0..calls {
            let limit = Arc::clone(limit);
            tasks.push(tokio::spawn(async move {
                let permit = limit.acquire(tokens(estimate)).await;
                let at = began.elapsed();
                assert_eq!(permit.waited(), at);
                tokio::time::sleep(held).await;
                permit.settle(tokens(actual));
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
        // A call may need more than a minute holds, and the next one waits for it.
        let starts_full = starts(&limit(0, 6_000, 0, 0), 3, 12_000, 12_000, Duration::ZERO).await;
        assert_eq!(starts_full.iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 120, 240]);
        // Estimated at a minute each, but used a tenth: waiting calls start once that is known.
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
            limit.acquire(tokens(u64::MAX)).await.settle(tokens(u64::MAX));
        }
        limit.acquire(tokens(1)).await.settle(tokens(0));
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
            // A shorter pause does not end it.
            limit.pause(Duration::from_secs(5));
            assert_eq!(limit.paused_for(), Some(Duration::from_secs(30)));
            let starts = starts(&limit, 3, 1, 1, Duration::ZERO).await;
            assert!(starts.iter().all(|at| at.as_secs() == 30), "{starts:?}");
            assert_eq!(limit.paused_for(), None);
        }
        let endless = limit(0, 0, 0, 0);
        endless.pause(Duration::MAX);
        let waited = tokio::time::timeout(Duration::from_secs(100_000), endless.acquire(tokens(1))).await;
        assert!(waited.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_nothing() {
        let limit = limit(0, 6_000, 1, 0);
        let first = limit.acquire(tokens(6_000)).await;
        let gave_up = tokio::time::timeout(Duration::from_secs(1), limit.acquire(tokens(6_000))).await;
        assert!(gave_up.is_err());
        first.settle(tokens(0));
        let next = limit.acquire(tokens(1)).await;
        assert_eq!(next.waited(), Duration::ZERO);
    }

    /// Start times of calls that start as soon as possible, while the share changes.
    async fn starts_while(limit: &Arc<Limiter>, lasts: Duration, changes: &[(u64, Share)]) -> Vec<Duration> {
        let began = Instant::now();
        let mut starts = Vec::new();
        let mut changes = changes.iter().peekable();
        loop {
            let change_at = changes.peek().map_or(lasts, |(at, _)| Duration::from_secs(*at));
            tokio::select! {
                biased;
                () = sleep_until(began + change_at) => match changes.next() {
                    Some((_, share)) => limit.set_share(*share),
                    None => return starts,
                },
                permit = limit.acquire(tokens(10)) => {
                    permit.settle(tokens(10));
                    starts.push(began.elapsed());
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_share_slows_requests_and_tokens_down() {
        let minutes = Duration::from_secs(120);
        for limit in [limit(120, 0, 0, 0), limit(0, 1_200, 0, 0)] {
            limit.set_share(Share::new(1, 3));
            let starts = starts_while(&limit, minutes, &[]).await;
            assert_eq!((starts.len(), most_in_a_minute(&starts)), (80, 40), "{limit:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_change_of_the_share_grants_a_burst() {
        let changes: Vec<(u64, Share)> =
            (1..60).map(|second| (second, Share::new(1 + u32::try_from(second % 2).unwrap(), 4))).collect();
        for limit in [limit(240, 0, 0, 40), limit(0, 2_400, 0, 0)] {
            limit.set_share(Share::new(1, 4));
            // The burst is used up.
            let first = starts_while(&limit, Duration::from_secs(60), &[]).await;
            assert!(first.len() <= 70, "{}", first.len());
            let starts = starts_while(&limit, Duration::from_secs(60), &changes).await;
            // Half the minute at a quarter, half at two quarters; a larger share has a larger burst, but only once.
            assert!((85..=101).contains(&starts.len()), "{limit:?} {}", starts.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_share_nothing_starts_until_there_is_one() {
        for limit in [limit(60, 0, 0, 0), limit(0, 600, 0, 0), limit(0, 0, 3, 0)] {
            limit.set_share(Share::NONE);
            let began = Instant::now();
            let waits = tokio::spawn({
                let limit = Arc::clone(&limit);
                async move { limit.acquire(tokens(1)).await.waited() }
            });
            tokio::time::sleep(Duration::from_secs(5)).await;
            limit.set_share(Share::WHOLE);
            assert_eq!(waits.await.expect("no panic"), Duration::from_secs(5), "{limit:?}");
            assert_eq!(began.elapsed(), Duration::from_secs(5));
        }
        let unlimited = limit(0, 0, 0, 0);
        unlimited.set_share(Share::NONE);
        assert_eq!(unlimited.acquire(tokens(1)).await.waited(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_in_flight_are_finished_when_a_share_shrinks() {
        let limit = limit(0, 0, 9, 0);
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(limit.acquire(tokens(1)).await);
        }
        limit.set_share(Share::new(1, 3));
        assert!(!limit.is_settled());
        held.truncate(4);
        assert!(!limit.is_settled());
        held.truncate(3);
        assert!(limit.is_settled());
        let soon = |limit: Arc<Limiter>| async move {
            tokio::time::timeout(Duration::from_secs(1), limit.acquire(tokens(1))).await
        };
        assert!(soon(Arc::clone(&limit)).await.is_err(), "three are in flight");
        held.truncate(2);
        held.push(soon(Arc::clone(&limit)).await.expect("a slot is free"));
        // It grows while more are in flight than it had, and shrinks below them again.
        limit.set_share(Share::NONE);
        limit.set_share(Share::new(2, 3));
        assert!(limit.is_settled());
        for _ in 0..3 {
            held.push(soon(Arc::clone(&limit)).await.expect("six of nine"));
        }
        assert!(soon(Arc::clone(&limit)).await.is_err());
        held.clear();
        limit.set_share(Share::WHOLE);
        for _ in 0..9 {
            held.push(soon(Arc::clone(&limit)).await.expect("all nine"));
        }
        assert!(soon(Arc::clone(&limit)).await.is_err());
    }

    fn minutes(requests: u64, tokens: u64, input_tokens: u64, output_tokens: u64) -> Windows {
        let [requests, tokens, input_tokens, output_tokens] =
            [requests, tokens, input_tokens, output_tokens].map(|limit| NonZeroU64::new(limit).map(Window::Minute));
        Windows { requests, tokens, input_tokens, output_tokens }
    }

    #[tokio::test(start_paused = true)]
    async fn the_lower_of_the_own_and_the_provider_s_limit_holds() {
        let rows = [
            // Own limit, the provider's, and the calls of five minutes.
            (60, minutes(30, 0, 0, 0), 150),
            (60, minutes(90, 0, 0, 0), 300),
            (0, minutes(30, 0, 0, 0), 156),
            (0, minutes(0, 300, 0, 0), 156),
            (0, minutes(0, 0, 300, 0), 156),
            (0, minutes(0, 0, 0, 300), 100_000),
        ];
        for (own, named, calls) in rows {
            let limit = limit(own, 0, 0, 0);
            assert!(limit.learn(&named), "news");
            assert!(!limit.learn(&named) && !limit.learn(&Windows::default()), "no news");
            assert_eq!(limit.learned(), named.of_about_a_minute());
            let within = Duration::from_secs(300);
            let began = Instant::now();
            let mut count = 0;
            while count < 100_000 && tokio::time::timeout_at(began + within, limit.acquire(tokens(10))).await.is_ok() {
                count += 1;
            }
            let most = calls + calls / 100 + 1;
            assert!((calls..=most).contains(&count), "{own} {named:?}: {count}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_raises_its_limit_is_believed_up_to_the_own_one() {
        let limit = limit(60, 0, 0, 0);
        for (named, seconds) in [(6, 10), (600, 1), (30, 2)] {
            assert!(limit.learn(&minutes(named, 0, 0, 0)));
            limit.acquire(tokens(1)).await;
            assert_eq!(limit.acquire(tokens(1)).await.waited(), Duration::from_secs(seconds), "{named}");
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn learned_limits_are_shared_like_configured_ones() {
        let limit = limit(0, 0, 0, 0);
        limit.set_share(Share::new(1, 2));
        limit.learn(&minutes(60, 0, 0, 0));
        let starts = starts_while(&limit, Duration::from_secs(120), &[]).await;
        assert!((60..=68).contains(&starts.len()), "{}", starts.len());
        limit.set_share(Share::NONE);
        assert!(tokio::time::timeout(Duration::from_secs(600), limit.acquire(tokens(1))).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn settings_can_say_that_nothing_is_learned() {
        let limit = Limiter::new(&Settings { learn: false, ..Settings::default() });
        let told = minutes(1, 1, 1, 1);
        assert!(!limit.learn(&told));
        assert_eq!((limit.learned(), limit.reported()), (Allowed::default(), told));
        for _ in 0..100 {
            assert_eq!(limit.acquire(tokens(10)).await.waited(), Duration::ZERO);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cached_input_does_not_count_for_a_limit_of_input() {
        let cached = Amount { input: 10_000, uncached_input: 10, output: 5 };
        for (named, waits) in [(minutes(0, 0, 60, 0), 0), (minutes(0, 60, 0, 0), 9_990)] {
            let limit = limit(0, 0, 0, 0);
            limit.learn(&named);
            limit.acquire(Amount { input: 10_000, uncached_input: 10_000, output: 5 }).await.settle(cached);
            let waited = limit.acquire(tokens(1)).await.waited().as_secs();
            assert!(waited >= waits && waited < waits + 30, "{named:?} {waited}");
        }
    }
}
