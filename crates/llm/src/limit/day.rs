//! Requests a day. The coordinator counts them for all workers and all runs, and gives each worker a few at a time.
//!
//! What a worker got counts as used until it gives it back, so a killed worker never lets a day exceed its limit. A grant is of
//! one day and ends with it. Without a coordinator nobody counts: `ping`, the preflight and unit tests are not limited.

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// A worker in use keeps at least so many requests ahead, and so many times what it used between two heartbeats.
const LEAST_AHEAD: u64 = 4;
const PACES_AHEAD: u64 = 2;

/// The day's requests of one limit in this process.
#[derive(Debug)]
pub(super) struct Day {
    most: NonZeroU64,
    state: Mutex<State>,
    /// Wakes calls that wait for a grant.
    told: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// A coordinator counts.
    metered: bool,
    grant: DayGrant,
    /// When the day of the grant ends.
    until: Option<Instant>,
    used: u64,
    returned: u64,
    waiting: u64,
    /// Used between two heartbeats, and when it was last measured.
    pace: u64,
    used_before: u64,
}

/// What a worker got of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayGrant {
    /// Days since 1970, in UTC.
    pub day: i64,
    /// All requests that it got of that day in this session.
    pub got: u64,
    /// How long the day lasts from now on.
    pub left: Duration,
    /// There are no more, so calls that wait fail.
    pub used_up: bool,
}

/// What a worker says of its requests of a day. Sums only grow within a day, so an old word changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayWord {
    /// The limit.
    pub most: u64,
    /// The day of the other numbers; 0 if it has got nothing yet.
    pub day: i64,
    pub got: u64,
    pub returned: u64,
    /// All that it wants to have got.
    pub wanted: u64,
}

/// The day's requests are used up: the limit, and how long the day lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayUsedUp {
    pub most: u64,
    pub left: Duration,
}

/// One request of the day. Dropped before the call is sent, it goes back.
#[derive(Debug)]
pub(super) struct Ticket {
    day: Arc<Day>,
    of: i64,
    sent: bool,
}

impl Day {
    pub(super) fn new(most: NonZeroU64) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), told: Notify::new() })
    }

    /// From now on each request needs a grant.
    pub(super) fn meter(&self) {
        self.lock().metered = true;
    }

    /// The session is over, and so are its grants.
    pub(super) fn forget(&self) {
        let mut state = self.lock();
        *state = State { metered: state.metered, waiting: state.waiting, ..State::default() };
    }

    /// Takes one request of the day, or waits for one. `ask`: called when the coordinator should hear that more are needed.
    pub(super) async fn take(self: &Arc<Self>, ask: impl Fn()) -> Result<Ticket, DayUsedUp> {
        let mut waits: Option<Waits<'_>> = None;
        loop {
            let mut told = std::pin::pin!(self.told.notified());
            // From here on no word is missed.
            told.as_mut().enable();
            {
                let mut state = self.lock();
                state.turn();
                if !state.metered || state.free() > 0 {
                    state.used += u64::from(state.metered);
                    let (of, asks) = (state.grant.day, state.wanted() > state.grant.got);
                    drop(state);
                    if asks {
                        ask();
                    }
                    return Ok(Ticket { day: Arc::clone(self), of, sent: false });
                }
                if state.grant.used_up {
                    return Err(DayUsedUp { most: self.most.get(), left: state.left() });
                }
                if waits.is_none() {
                    state.waiting += 1;
                }
            }
            waits.get_or_insert(Waits(self));
            ask();
            told.await;
        }
    }

    pub(super) fn grant(&self, grant: DayGrant) {
        let mut state = self.lock();
        state.turn();
        if grant.day != state.grant.day {
            (state.used, state.returned, state.used_before) = (0, 0, 0);
        }
        let got = if grant.day == state.grant.day { grant.got.max(state.grant.got) } else { grant.got };
        state.grant = DayGrant { got, ..grant };
        state.until = Some(Instant::now() + grant.left);
        drop(state);
        self.told.notify_waiters();
    }

    /// `beat`: a heartbeat is due, which measures the pace. `leaves`: no more is needed.
    pub(super) fn word(&self, beat: bool, leaves: bool) -> DayWord {
        let mut state = self.lock();
        state.turn();
        if beat {
            let used = state.used.saturating_sub(state.used_before);
            state.pace = used.max(state.pace / 2);
            state.used_before = state.used;
        }
        if leaves && state.waiting == 0 {
            state.returned += state.free();
        }
        DayWord {
            most: self.most.get(),
            day: state.grant.day,
            got: state.grant.got,
            returned: state.returned,
            wanted: if leaves { state.grant.got } else { state.wanted() },
        }
    }

    /// The numbers are consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets a day that is over.
    fn turn(&mut self) {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            *self = Self { metered: self.metered, waiting: self.waiting, pace: self.pace, ..Self::default() };
        }
    }

    fn free(&self) -> u64 {
        self.grant.got.saturating_sub(self.used + self.returned)
    }

    fn left(&self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    fn wanted(&self) -> u64 {
        let is_in_use = self.waiting > 0 || self.pace > 0 || self.used > self.used_before;
        let ahead = if is_in_use { self.waiting.max(self.pace * PACES_AHEAD).max(LEAST_AHEAD) } else { 0 };
        let free = self.free();
        if free < self.waiting || free < ahead / 2 { self.grant.got + ahead - free } else { self.grant.got }
    }
}

/// A call that waits for a grant.
struct Waits<'a>(&'a Day);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting = state.waiting.saturating_sub(1);
    }
}

impl Ticket {
    pub(super) fn sent(mut self) {
        self.sent = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.sent {
            let mut state = self.day.lock();
            if state.metered && state.grant.day == self.of {
                state.used = state.used.saturating_sub(1);
            }
            drop(state);
            self.day.told.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn grant(got: u64, used_up: bool) -> DayGrant {
        DayGrant { day: 7, got, left: Duration::from_secs(100), used_up }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_grant_and_fails_when_the_day_is_used_up() {
        let day = Day::new(NonZeroU64::new(2).unwrap());
        day.take(|| {}).await.expect("nobody counts").sent();
        day.meter();
        let asked = Arc::new(AtomicU32::new(0));
        let take = || {
            let (day, asked) = (Arc::clone(&day), Arc::clone(&asked));
            tokio::spawn(async move {
                day.take(|| {
                    asked.fetch_add(1, Ordering::Relaxed);
                })
                .await
                .map(Ticket::sent)
            })
        };
        let first = take();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!first.is_finished() && asked.load(Ordering::Relaxed) == 1);
        let word = day.word(false, false);
        assert_eq!((word.day, word.got, word.wanted), (0, 0, LEAST_AHEAD));
        day.grant(grant(2, false));
        assert_eq!(first.await.unwrap(), Ok(()));
        assert_eq!(take().await.unwrap(), Ok(()));
        let third = take();
        tokio::time::sleep(Duration::from_secs(1)).await;
        day.grant(grant(2, true));
        assert_eq!(third.await.unwrap(), Err(DayUsedUp { most: 2, left: Duration::from_secs(100) }));

        // The next day begins with nothing.
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(day.word(false, false).got, 0);
        let fourth = take();
        tokio::time::sleep(Duration::from_secs(1)).await;
        day.grant(DayGrant { day: 8, ..grant(1, false) });
        assert_eq!(fourth.await.unwrap(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_used_goes_back() {
        let day = Day::new(NonZeroU64::MAX);
        day.meter();
        day.grant(grant(10, false));
        day.take(|| {}).await.unwrap().sent();
        drop(day.take(|| {}).await.unwrap());
        assert_eq!(day.word(false, false).returned, 0);
        assert_eq!(day.word(false, true).returned, 9, "one was used");
        assert_eq!(day.word(false, true).returned, 9, "said again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_worker_asks_ahead_of_its_pace() {
        let day = Day::new(NonZeroU64::MAX);
        day.meter();
        day.grant(grant(40, false));
        for _ in 0..30 {
            day.take(|| {}).await.unwrap().sent();
        }
        let word = day.word(true, false);
        assert_eq!(word.wanted, 40 + 60 - 10, "twice the pace, less what it has");
        day.grant(grant(90, false));
        assert_eq!(day.word(false, false).wanted, 90);
        for _ in 0..10 {
            day.word(true, false);
        }
        assert_eq!(day.word(true, false).wanted, 90, "an idle worker asks for nothing");
    }
}
