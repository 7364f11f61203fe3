//! Requests or tokens a minute: a counter with debt, since one call may need more tokens than a bucket ever holds.
//!
//! Not governor, whose limiters keep their rate for life: one that replaces another grants its burst again, while
//! here what was taken before is still owed when the rate changes.

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
    per_minute: NonZeroU64,
    /// So much may be taken at once after a pause.
    burst: NonZeroU64,
    state: Mutex<State>,
    /// A wait may be over sooner than it seemed: something was given back, or the rate changed.
    sooner: Notify,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// Never none: what is owed is earned at this rate.
    share: Share,
    stopped: bool,
    /// When all that was taken will have been earned. A call may start whenever that is past, however much it
    /// needs; the calls after it wait for its debt.
    earned_at: Instant,
}

impl Bucket {
    pub(super) fn new(per_minute: NonZeroU64, burst: NonZeroU64) -> Self {
        let state = State { share: Share::WHOLE, stopped: false, earned_at: Instant::now() };
        Self { per_minute, burst, state: Mutex::new(state), sooner: Notify::new() }
    }

    /// Waits until nothing is owed, but for what a burst allows.
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

    pub(super) fn is_clear(&self) -> bool {
        self.clear_at().is_some_and(|clear_at| clear_at <= Instant::now())
    }

    /// `None`: not before the share changes.
    fn clear_at(&self) -> Option<Instant> {
        let State { share, stopped, earned_at } = *self.lock();
        if stopped {
            return None;
        }
        let allowed = self.time_for(share.whole_part_of(self.burst.get()) - 1, share);
        Some(earned_at.checked_sub(allowed).unwrap_or_else(Instant::now))
    }

    pub(super) fn take(&self, amount: u64) {
        let mut state = self.lock();
        // What was not used before now is not saved up: that would let a minute see more than the limit.
        let now = Instant::now();
        let later = state.earned_at.max(now) + self.time_for(amount, state.share);
        state.earned_at = later.min(now + LONGEST_DEBT);
    }

    pub(super) fn give_back(&self, amount: u64) {
        let mut state = self.lock();
        let earlier = state.earned_at.checked_sub(self.time_for(amount, state.share));
        state.earned_at = earlier.unwrap_or_else(Instant::now);
        drop(state);
        self.sooner.notify_one();
    }

    /// What is owed stays owed, and is earned at the new rate from now on.
    pub(super) fn set_share(&self, share: Share) {
        let mut state = self.lock();
        state.stopped = share.is_none();
        if !share.is_none() {
            let now = Instant::now();
            let slower = f64::from(state.share.slots()) * f64::from(share.of())
                / (f64::from(state.share.of()) * f64::from(share.slots()));
            let owed = state.earned_at.saturating_duration_since(now).as_secs_f64() * slower;
            state.earned_at = now + Duration::try_from_secs_f64(owed).unwrap_or(LONGEST_DEBT).min(LONGEST_DEBT);
            state.share = share;
        }
        drop(state);
        self.sooner.notify_one();
    }

    fn time_for(&self, amount: u64, share: Share) -> Duration {
        let of = u128::from(share.of());
        let per_minute = u128::from(self.per_minute.get()) * u128::from(share.slots());
        let nanos = (u128::from(amount) * of).saturating_mul(60_000_000_000) / per_minute;
        u64::try_from(nanos).map_or(LONGEST_DEBT, |nanos| Duration::from_nanos(nanos).min(LONGEST_DEBT))
    }

    /// The state is whole even where a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
