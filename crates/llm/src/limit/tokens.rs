//! Tokens per minute: a counter with debt, since one call may need more than a bucket ever holds.

use std::{
    num::NonZeroU64,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// Longer than any run waits for one call; it keeps sums of absurd estimates within what an instant can hold.
const LONGEST_DEBT: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug)]
pub(super) struct Tokens {
    per_minute: NonZeroU64,
    /// When all that was taken will have been earned. A call may start whenever that is past, however much it
    /// needs; the calls after it wait for its debt.
    earned_at: Mutex<Instant>,
    /// Somebody gave tokens back, so a wait may be over sooner than it seemed.
    given_back: Notify,
}

impl Tokens {
    pub(super) fn new(per_minute: NonZeroU64) -> Self {
        Self { per_minute, earned_at: Mutex::new(Instant::now()), given_back: Notify::new() }
    }

    /// Waits until nothing is owed.
    pub(super) async fn clear(&self) {
        loop {
            let earned_at = *self.lock();
            if earned_at <= Instant::now() {
                return;
            }
            tokio::select! {
                () = sleep_until(earned_at) => {}
                () = self.given_back.notified() => {}
            }
        }
    }

    pub(super) fn take(&self, tokens: u64) {
        let mut earned_at = self.lock();
        // What was not used before now is not saved up: that would let a minute see more than the limit.
        let now = Instant::now();
        let later = (*earned_at).max(now) + self.time_for(tokens);
        *earned_at = later.min(now + LONGEST_DEBT);
    }

    pub(super) fn give_back(&self, tokens: u64) {
        let mut earned_at = self.lock();
        *earned_at = earned_at.checked_sub(self.time_for(tokens)).unwrap_or_else(Instant::now);
        drop(earned_at);
        self.given_back.notify_one();
    }

    fn time_for(&self, tokens: u64) -> Duration {
        let nanos = u128::from(tokens) * 60_000_000_000 / u128::from(self.per_minute.get());
        u64::try_from(nanos).map_or(LONGEST_DEBT, |nanos| Duration::from_nanos(nanos).min(LONGEST_DEBT))
    }

    /// An instant is whole even where a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.earned_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
