//! The circuit breaker of an endpoint: while most calls fail, calls wait instead of using up their tries.
//!
//! It opens when more than half of the last 20 to 100 calls within 10 seconds fail. After 15 seconds one call may try (half-open). It
//! closes with the first answer. If there is none for [`PATIENCE`], calls do not wait any more, so a run always ends.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

const WINDOW: Duration = Duration::from_secs(10);
const LEAST_CALLS: u32 = 20;
/// Where many calls are made, later ones are no better evidence.
const MOST_CALLS: usize = 100;
const OPEN_FOR: Duration = Duration::from_secs(15);
/// How long calls wait for an endpoint on which nothing succeeds.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
    /// Calls have to look at the state.
    open: AtomicBool,
    told: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The last calls: when each ended, and whether it failed.
    calls: VecDeque<(Instant, bool)>,
    failed: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    since: Instant,
    until: Instant,
    /// A call tries whether the endpoint answers again.
    probing: bool,
    failed: u32,
    calls: u32,
}

/// How a call ended, as far as the endpoint is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It answered, also if it refused or throttled the call.
    Answered,
    Failed,
}

/// A call that may go out.
#[derive(Debug)]
pub(super) struct Pass {
    breaker: Arc<Breaker>,
    probes: bool,
}

impl Breaker {
    /// Waits while the breaker is open.
    pub(super) async fn pass(self: &Arc<Self>) -> Pass {
        while self.open.load(Ordering::Acquire) {
            let mut told = std::pin::pin!(self.told.notified());
            told.as_mut().enable();
            let until = {
                let mut state = self.lock();
                let now = Instant::now();
                let Some(open) = &mut state.open else { break };
                if now >= open.since + PATIENCE {
                    break;
                }
                if now >= open.until && !open.probing {
                    open.probing = true;
                    return Pass { breaker: Arc::clone(self), probes: true };
                }
                if open.probing { open.since + PATIENCE } else { open.until }
            };
            tokio::select! {
                () = sleep_until(until) => {}
                () = told => {}
            }
        }
        Pass { breaker: Arc::clone(self), probes: false }
    }

    /// Why nothing that needs the endpoint should begin; `None`: it may be called, or tried.
    pub(super) fn closed_to_new(&self) -> Option<String> {
        if !self.open.load(Ordering::Acquire) {
            return None;
        }
        let (state, now) = (self.lock(), Instant::now());
        let open = state.open.as_ref()?;
        let waits = open.probing || now < open.until;
        (waits && now < open.since + PATIENCE).then(|| {
            format!("{} of {} calls failed within 10 s; it is tried again every 15 s", open.failed, open.calls)
        })
    }

    /// Whether the breaker is open or half open.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// The numbers are consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call, and returns how many of the last ones failed, of how many.
    fn count(&mut self, now: Instant, failed: bool) -> (u32, u32) {
        self.calls.push_back((now, failed));
        self.failed += u32::from(failed);
        while let Some((at, failed)) = self.calls.front().copied()
            && (self.calls.len() > MOST_CALLS || now >= at + WINDOW)
        {
            self.calls.pop_front();
            self.failed -= u32::from(failed);
        }
        (self.failed, u32::try_from(self.calls.len()).unwrap_or(u32::MAX))
    }
}

impl Pass {
    /// The call is over. Whether the breaker opened or closed.
    pub(super) fn ended(mut self, how: Ended) -> bool {
        let (now, probes) = (Instant::now(), std::mem::take(&mut self.probes));
        let mut state = self.breaker.lock();
        match (&mut state.open, how) {
            (Some(_), Ended::Answered) => {
                *state = State::default();
                self.breaker.open.store(false, Ordering::Release);
            }
            (Some(open), Ended::Failed) => {
                if probes {
                    open.probing = false;
                    open.until = now + OPEN_FOR;
                }
                drop(state);
                self.breaker.told.notify_waiters();
                return false;
            }
            (None, _) => {
                let (failed, calls) = state.count(now, how == Ended::Failed);
                if calls < LEAST_CALLS || failed * 2 <= calls {
                    return false;
                }
                state.open = Some(Open { since: now, until: now + OPEN_FOR, probing: false, failed, calls });
                self.breaker.open.store(true, Ordering::Release);
            }
        }
        drop(state);
        self.breaker.told.notify_waiters();
        true
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.probes {
            // Given up without an answer: another call may try.
            if let Some(open) = &mut self.breaker.lock().open {
                open.probing = false;
            }
            self.breaker.told.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn calls(breaker: &Arc<Breaker>, count: u32, how: Ended) -> bool {
        let mut changed = false;
        for _ in 0..count {
            changed |= breaker.pass().await.ended(how);
        }
        changed
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_when_most_calls_fail_and_closes_with_the_first_answer() {
        let breaker = Arc::new(Breaker::default());
        assert!(!calls(&breaker, 10, Ended::Answered).await);
        assert!(!calls(&breaker, 10, Ended::Failed).await, "half of twenty");
        assert!(calls(&breaker, 1, Ended::Failed).await && breaker.is_open());
        assert_eq!(
            breaker.closed_to_new().as_deref(),
            Some("11 of 21 calls failed within 10 s; it is tried again every 15 s")
        );
        let began = Instant::now();
        let probe = breaker.pass().await;
        assert_eq!(began.elapsed(), OPEN_FOR);
        let second = tokio::spawn({
            let breaker = Arc::clone(&breaker);
            async move { breaker.pass().await.ended(Ended::Answered) }
        });
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(!second.is_finished(), "one at a time");
        assert!(!probe.ended(Ended::Failed));
        assert!(second.await.unwrap(), "it tries after another 15 s, and closes");
        assert_eq!(began.elapsed(), OPEN_FOR + Duration::from_secs(20) + OPEN_FOR);
        assert!(!breaker.is_open() && breaker.closed_to_new().is_none());
        assert!(!calls(&breaker, 19, Ended::Failed).await, "it counts anew");
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_last_hundred_calls_count() {
        let breaker = Arc::new(Breaker::default());
        assert!(!calls(&breaker, 1_000, Ended::Answered).await);
        assert!(!calls(&breaker, 50, Ended::Failed).await);
        assert!(calls(&breaker, 1, Ended::Failed).await);
    }

    #[tokio::test(start_paused = true)]
    async fn few_or_old_failures_do_not_open_it() {
        let breaker = Arc::new(Breaker::default());
        for _ in 0..10 {
            assert!(!calls(&breaker, 10, Ended::Failed).await);
            tokio::time::sleep(WINDOW).await;
        }
        assert!(!breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_given_up_lets_another_try_and_nobody_waits_for_ever() {
        let breaker = Arc::new(Breaker::default());
        calls(&breaker, 20, Ended::Failed).await;
        let opened = Instant::now();
        drop(breaker.pass().await);
        let probe = tokio::time::timeout(Duration::from_secs(1), breaker.pass()).await.expect("it tries at once");
        drop(breaker.pass().await);
        assert_eq!(opened.elapsed(), PATIENCE, "the first probe never ended");
        assert_eq!(breaker.closed_to_new(), None);
        assert!(!probe.ended(Ended::Failed) && breaker.is_open());
        assert!(breaker.pass().await.ended(Ended::Answered), "an answer closes it also then");
    }
}
