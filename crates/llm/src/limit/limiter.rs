//! The rate limiter of one endpoint: each call waits here for its permit.

use std::{
    num::{NonZeroU32, NonZeroU64},
    sync::{
        Arc, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, Notify, watch},
    time::{Instant, sleep_until},
};

use super::{
    adaptive::Adaptive,
    amount::{Amount, Counted},
    breaker::Breaker,
    bucket::Bucket,
    concurrency::{Slot, Slots},
    day::{self, Day, DayGrant, DayUsedUp, DayWord},
    episodes::Episodes,
    learned::Learned,
    settings::{Concurrency, Settings},
    share::Share,
    usage::{Counting, Demand, Rates, Usage},
};
use crate::{
    money::Purses,
    named_limits::{Allowed, Windows},
    retry::RetryBudget,
};

/// After a pause, a quarter of a minute's worth may start at once under a limit that the provider names: its own
/// windows allow a whole minute's worth.
const BURST_PART: u64 = 4;
/// Roles with their own gate; all others share one.
const ROLES: [&str; 3] = ["agent", "user_sim", "judge"];

/// The limits of one endpoint, with their current use. The provider may add limits that the settings do not have.
#[derive(Debug)]
pub struct Limiter {
    /// Of the endpoint and its model: all workers that have the same name for it share its limits.
    name: String,
    day: Option<Arc<Day>>,
    /// Wakes who tells the coordinator what this limiter needs.
    news: OnceLock<Arc<Notify>>,
    pub(super) slots: Option<Arc<Slots>>,
    /// One for each of [`Counted::ALL`].
    buckets: [OnceLock<Bucket>; Counted::ALL.len()],
    settings: Settings,
    known: std::sync::Mutex<Known>,
    /// One call waits on the clock, the others queue behind it. If all waited on the clock, all would wake for each
    /// request that may start, and the last could starve.
    turnstile: Mutex<()>,
    /// One call of each role waits at the turnstile, the others behind it: so roles take turns, and none can starve another.
    gates: [Mutex<()>; ROLES.len() + 1],
    usage: Arc<Usage>,
    /// Finds how many calls the endpoint takes; `None`: the number is fixed, or there is no limit.
    pub(super) adaptive: Option<std::sync::Mutex<Adaptive>>,
    pub(super) episodes: std::sync::Mutex<Episodes>,
    pub(super) breaker: Arc<Breaker>,
    retries: RetryBudget,
    /// Calls that went on after a pause.
    resumed: AtomicU32,
    born: Instant,
    /// No call starts before then, in microseconds since `born`; 0 when never paused.
    paused_until_micros: AtomicU64,
    purses: OnceLock<Arc<Purses>>,
    held: watch::Sender<Hold>,
}

/// Why no call starts, nor another try of a call.
#[derive(Debug, Clone, Copy, Default)]
struct Hold {
    held: bool,
    /// From then on nothing starts.
    lapses: Option<Instant>,
}

impl Hold {
    fn is_held(&self) -> bool {
        self.held || self.lapses.is_some_and(|at| at <= Instant::now())
    }
}

/// Limits from other sources than the settings.
#[derive(Debug)]
struct Known {
    share: Share,
    learned: Learned,
    /// What the last answer reported.
    reported: Windows,
}

/// Permission for one call. Dropped without being settled, it keeps its estimate: the call may have used it.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<Limiter>,
    estimate: Amount,
    waited: Duration,
    day: Option<day::Ticket>,
    counting: Option<Counting>,
    _slot: Option<Slot>,
}

impl Limiter {
    #[must_use]
    pub fn new(name: impl Into<String>, settings: &Settings) -> Arc<Self> {
        let burst = settings.burst.unwrap_or(NonZeroU32::MIN);
        Arc::new(Self {
            name: name.into(),
            day: settings.requests_per_day.map(|most| Day::new(most.into())),
            news: OnceLock::new(),
            slots: settings.concurrency.map(|concurrency| match concurrency {
                Concurrency::Calls(calls) => Slots::new(calls.get().into()),
                Concurrency::Auto => Slots::new(Adaptive::new().level()),
            }),
            adaptive: (settings.concurrency == Some(Concurrency::Auto)).then(|| Adaptive::new().into()),
            episodes: std::sync::Mutex::default(),
            breaker: Arc::default(),
            retries: RetryBudget::default(),
            resumed: AtomicU32::new(0),
            buckets: Counted::ALL.map(|counted| {
                let burst = if counted == Counted::Requests { burst.into() } else { NonZeroU64::MIN };
                own(settings, counted).map_or_else(OnceLock::new, |rate| OnceLock::from(Bucket::new(rate, burst)))
            }),
            settings: *settings,
            known: std::sync::Mutex::new(Known {
                share: Share::WHOLE,
                learned: Learned::default(),
                reported: Windows::default(),
            }),
            turnstile: Mutex::new(()),
            gates: Default::default(),
            usage: Usage::new(),
            born: Instant::now(),
            paused_until_micros: AtomicU64::new(0),
            purses: OnceLock::new(),
            held: watch::Sender::new(Hold::default()),
        })
    }

    /// From now on calls of runs with a budget take their money from these purses. Only the first purses count.
    pub fn pay_from(&self, purses: &Arc<Purses>) {
        let _ = self.purses.set(Arc::clone(purses));
    }

    pub(super) fn purses(&self) -> Option<&Arc<Purses>> {
        self.purses.get()
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From now on a coordinator counts what must be counted, and `news` wakes who talks to it. Only the first one counts.
    pub fn report_to(&self, news: &Arc<Notify>) {
        let _ = self.news.set(Arc::clone(news));
        if let Some(day) = &self.day {
            day.meter();
        }
    }

    /// The session is over: what it got of the day is not ours any more.
    pub fn forget_day(&self) {
        self.day.iter().for_each(|day| day.forget());
    }

    /// What the coordinator gives of the day's requests.
    pub fn grant_day(&self, grant: DayGrant) {
        self.day.iter().for_each(|day| day.grant(grant));
    }

    /// What the coordinator should know of the day's requests; `None` without a limit. `beat`: a heartbeat is due; `leaves`: no
    /// more is needed.
    pub fn day_word(&self, beat: bool, leaves: bool) -> Option<DayWord> {
        self.day.as_ref().map(|day| day.word(beat, leaves))
    }

    pub(super) fn tell(&self) {
        self.news.get().into_iter().for_each(|news| news.notify_one());
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
    /// name none or a higher one, unless they say that nothing is learned. Whether another limit holds now.
    pub fn learn(&self, reported: &Windows) -> bool {
        let mut known = self.known();
        known.reported = *reported;
        if !self.settings.learn {
            return false;
        }
        let fresh = known.learned.fresh();
        let is_news = self.learn_from(&mut known, |learned| learned.take(reported));
        if known.learned.fresh() != fresh {
            self.tell();
        }
        is_news
    }

    /// Takes the limits that all workers together have learned.
    pub fn adopt(&self, fleet: Allowed) {
        let is_news = self.settings.learn && self.learn_from(&mut self.known(), |learned| learned.adopt(fleet));
        if is_news {
            self.log_learned("the workers learned the provider's limits of a minute");
        }
    }

    pub(super) fn log_learned(&self, how: &str) {
        let learned = self.learned();
        let [requests, tokens, input, output] =
            [learned.requests, learned.tokens, learned.input_tokens, learned.output_tokens]
                .map(|limit| limit.map_or(0, NonZeroU64::get));
        tracing::info!(limit = self.name, requests, tokens, input, output, "{how}");
    }

    fn learn_from(&self, known: &mut Known, learn: impl FnOnce(&mut Learned)) -> bool {
        let before = known.learned.all();
        learn(&mut known.learned);
        let now = known.learned.all();
        for (counted, bucket) in Counted::ALL.into_iter().zip(&self.buckets) {
            let Some(named) = counted.named(&now) else { continue };
            if counted.named(&before) == Some(named) {
                continue;
            }
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
        now != before
    }

    /// The limits of a minute that the provider named so far, to this worker or to others.
    #[must_use]
    pub fn learned(&self) -> Allowed {
        self.known().learned.all()
    }

    /// Those that an answer to this worker has named within the last minute.
    #[must_use]
    pub fn named_lately(&self) -> Allowed {
        self.known().learned.fresh()
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
    ///
    /// # Errors
    /// The requests of the day are used up.
    pub async fn acquire(self: &Arc<Self>, role: &str, estimate: Amount) -> Result<Permit, DayUsedUp> {
        let began = Instant::now();
        // A request of the day comes first: while a call waits for one, it holds nothing that another call could use.
        // These waits are boxed: a call in flight would keep room for them, and thousands are in flight at once.
        let day = match &self.day {
            Some(day) => Some(Box::pin(day.take(|| self.tell())).await?),
            None => None,
        };
        let (counting, slot) = if self.is_limited() {
            let (counting, slot) = Box::pin(self.wait_its_turn(role, estimate)).await;
            (Some(counting), slot)
        } else {
            if self.paused_for().is_some() || self.is_held() {
                Box::pin(self.opened()).await;
            }
            (None, None)
        };
        Ok(Permit { limit: Arc::clone(self), estimate, waited: began.elapsed(), day, counting, _slot: slot })
    }

    /// Waits for a slot and for what the buckets must hold.
    async fn wait_its_turn(self: &Arc<Self>, role: &str, estimate: Amount) -> (Counting, Option<Slot>) {
        let mut counted = self.usage.comes(estimate);
        let gate = ROLES.iter().position(|known| *known == role).unwrap_or(ROLES.len());
        let _gate = self.wait_telling(self.gates[gate].lock()).await;
        // The slot comes first: a call that holds a request and then waits for a slot could start late, in a crowd.
        let slot = match &self.slots {
            Some(slots) => Some(self.wait_for_slot(slots).await),
            None => None,
        };
        let _turn = self.wait_telling(self.turnstile.lock()).await;
        // While this call waited for one of these, another may have closed: a pause, or a smaller share.
        while !self.is_open() {
            self.tell_lack();
            for (_, bucket) in self.buckets() {
                bucket.clear().await;
            }
            self.pause_over().await;
            self.released().await;
        }
        for (counted, bucket) in self.buckets() {
            bucket.take(counted.of(&estimate));
        }
        counted.starts();
        (counted, slot)
    }

    /// Waits until it is neither paused nor held.
    async fn opened(&self) {
        self.pause_over().await;
        while self.is_held() {
            self.released().await;
            self.pause_over().await;
        }
    }

    /// While it is held, no call starts, and no other try of a call.
    pub fn hold(&self, held: bool) {
        self.held.send_modify(|hold| hold.held = held);
    }

    /// The same from this time on, unless a later time comes.
    pub fn lapse_at(&self, at: Instant) {
        self.held.send_modify(|hold| hold.lapses = Some(at));
    }

    fn is_held(&self) -> bool {
        self.held.borrow().is_held()
    }

    async fn released(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.held.subscribe().wait_for(|hold| !hold.is_held()).await;
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

    /// What this process needs of the limits. `beat`: a heartbeat is due, which measures what was used.
    #[must_use]
    pub fn demand(&self, beat: bool) -> Demand {
        // What is found while calls are made is divided by parts, not by number.
        let fixed = self.slots.as_ref().filter(|_| self.adaptive.is_none());
        let concurrency = fixed.map_or(0, |slots| u32::try_from(slots.most()).unwrap_or(u32::MAX));
        self.usage.demand(&self.rates(), concurrency, beat)
    }

    /// Which calls may be repeated.
    pub(crate) fn retries(&self) -> &RetryBudget {
        &self.retries
    }

    async fn wait_for_slot(&self, slots: &Arc<Slots>) -> Slot {
        let mut slot = std::pin::pin!(slots.take());
        tokio::select! {
            biased;
            slot = &mut slot => return slot,
            () = std::future::ready(()) => {}
        }
        self.waits_for_slot();
        self.tell_lack();
        slot.await
    }

    fn rates(&self) -> Rates {
        self.buckets.each_ref().map(|bucket| Some(bucket.get()?.rate()))
    }

    fn is_limited(&self) -> bool {
        self.slots.is_some() || self.buckets().next().is_some()
    }

    /// Waits, and lets the coordinator hear of it if the wait is for what it divides.
    async fn wait_telling<T>(&self, waited_for: impl Future<Output = T>) -> T {
        let mut waited_for = std::pin::pin!(waited_for);
        tokio::select! {
            biased;
            done = &mut waited_for => return done,
            () = std::future::ready(()) => {}
        }
        self.tell_lack();
        waited_for.await
    }

    fn tell_lack(&self) {
        if self.news.get().is_some() && self.usage.has_news(&self.rates()) {
            self.tell();
        }
    }

    fn is_open(&self) -> bool {
        !self.is_held() && self.paused_for().is_none() && self.buckets().all(|(_, bucket)| bucket.is_clear())
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
        // The first call may meet another 429, so every call checks again before it goes.
        while let Some(left) = self.paused_for() {
            // In pieces: an instant cannot hold the time of a hostile `Retry-After`.
            sleep_until(Instant::now() + left.min(Duration::from_secs(3_600))).await;
            if self.paused_for().is_none() && self.buckets().next().is_none() {
                // Where nothing spaces the calls, not all that waited start in one moment.
                sleep_until(Instant::now() + self.spread(left)).await;
            }
        }
    }

    /// A part of a tenth of the pause, at most 5 s: each call in turn gets another one.
    fn spread(&self, pause: Duration) -> Duration {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let turn = self.resumed.fetch_add(1, Ordering::Relaxed);
        (pause / 10).min(Duration::from_secs(5)).mul_f64((f64::from(turn) * GOLDEN).fract())
    }
}

impl Permit {
    /// The rate-limit wait of the call: no part of its latency.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// The call goes out now.
    pub fn sent(&mut self) {
        self.day.take().into_iter().for_each(day::Ticket::sent);
    }

    /// The call is over and used this many tokens.
    pub fn settle(self, actual: Amount) {
        self.counting.iter().for_each(|counting| counting.settle(&actual));
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
        Counted::Input => settings.input_tokens_per_minute,
        Counted::Output => settings.output_tokens_per_minute,
    }
}

#[cfg(test)]
mod tests;
