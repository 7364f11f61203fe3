//! Requests or tokens per minute: a counter with debt, because one call may need more tokens than a bucket ever holds.
//!
//! governor does not fit: its limiters have a fixed rate, and a new one would grant its burst again. Here the debt
//! remains when the rate changes.

use std::{
    num::NonZeroU64,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::share::Share;

/// Longer than any run waits for one call; it keeps sums of absurd estimates within what an instant can hold.
const LONGEST_DEBT: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug)]
pub(super) struct Bucket {
    /// How much may be taken at once after a pause.
    burst: NonZeroU64,
    state: Mutex<State>,
    /// Wakes waiting calls early: something was given back, or the rate changed.
    sooner: Notify,
}

#[derive(Debug, Clone, Copy)]
struct State {
    per_minute: NonZeroU64,
    /// Never zero: the debt is earned at this rate.
    share: Share,
    /// The time until the debt is earned, which stands still while there is no share.
    stopped: Option<Duration>,
    /// When the whole debt will have been earned. A call may start after that time, however much it needs; the calls
    /// after it wait for its debt.
    earned_at: Instant,
}

impl Bucket {
    pub(super) fn new(per_minute: NonZeroU64, burst: NonZeroU64) -> Self {
        let state = State { per_minute, share: Share::WHOLE, stopped: None, earned_at: Instant::now() };
        Self { burst, state: Mutex::new(state), sooner: Notify::new() }
    }

    /// Waits until the debt is within the burst.
    pub(super) async fn clear(&self) {
        loop {
            match self.clear_at() {
                Some(clear_at) if clear_at <= Instant::now() => return,
                Some(clear_at) => tokio::select! {
                    () = sleep_until(clear_at) => {}
                    () = self.sooner.notified() => {}
                },
                None => self.sooner.notified().await,
            }
        }
    }

    /// The limit of a minute for all processes together.
    pub(super) fn rate(&self) -> u64 {
        self.lock().per_minute.get()
    }

    pub(super) fn is_clear(&self) -> bool {
        self.clear_at().is_some_and(|clear_at| clear_at <= Instant::now())
    }

    /// `None`: not before the share changes.
    fn clear_at(&self) -> Option<Instant> {
        let state = *self.lock();
        if state.stopped.is_some() {
            return None;
        }
        let allowed = state.time_for(state.share.whole_part_of(self.burst.get()) - 1);
        Some(state.earned_at.checked_sub(allowed).unwrap_or_else(Instant::now))
    }

    pub(super) fn take(&self, amount: u64) {
        let mut state = self.lock();
        // Unused time is not saved up: otherwise a minute could exceed the limit.
        let now = Instant::now();
        let time = state.time_for(amount);
        if let Some(owed) = &mut state.stopped {
            *owed = (*owed + time).min(LONGEST_DEBT);
            return;
        }
        let later = state.earned_at.max(now) + time;
        state.earned_at = later.min(now + LONGEST_DEBT);
    }

    pub(super) fn give_back(&self, amount: u64) {
        let mut state = self.lock();
        let time = state.time_for(amount);
        if let Some(owed) = &mut state.stopped {
            *owed = owed.saturating_sub(time);
            return;
        }
        let earlier = state.earned_at.checked_sub(time);
        state.earned_at = earlier.unwrap_or_else(Instant::now);
        drop(state);
        self.sooner.notify_one();
    }

    /// The debt remains, and is earned at the new rate from now on.
    pub(super) fn set_share(&self, share: Share) {
        let mut state = self.lock();
        let now = Instant::now();
        if share.is_none() {
            let owed = state.earned_at.saturating_duration_since(now);
            state.stopped.get_or_insert(owed);
        } else {
            if let Some(owed) = state.stopped.take() {
                state.earned_at = now + owed;
            }
            let slower = f64::from(state.share.parts()) * f64::from(share.of())
                / (f64::from(state.share.of()) * f64::from(share.parts()));
            state.slow_down(slower);
            state.share = share;
        }
        drop(state);
        self.sooner.notify_one();
    }

    /// The same for the rate itself.
    pub(super) fn set_rate(&self, per_minute: NonZeroU64) {
        let mut state = self.lock();
        if state.per_minute != per_minute {
            let slower = state.per_minute.get() as f64 / per_minute.get() as f64;
            state.slow_down(slower);
            state.per_minute = per_minute;
            drop(state);
            self.sooner.notify_one();
        }
    }

    /// The state is consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stretches the time until the debt is earned.
    fn slow_down(&mut self, factor: f64) {
        let now = Instant::now();
        let owed = self.earned_at.saturating_duration_since(now).as_secs_f64() * factor;
        self.earned_at = now + Duration::try_from_secs_f64(owed).unwrap_or(LONGEST_DEBT).min(LONGEST_DEBT);
    }

    fn time_for(&self, amount: u64) -> Duration {
        let of = u128::from(self.share.of());
        let per_minute = u128::from(self.per_minute.get()) * u128::from(self.share.parts());
        let nanos = (u128::from(amount) * of).saturating_mul(60_000_000_000) / per_minute;
        u64::try_from(nanos).map_or(LONGEST_DEBT, |nanos| Duration::from_nanos(nanos).min(LONGEST_DEBT))
    }
}
