//! Admission control: whether a new call may start. Withheld while the coordinator is away or results pile up, and once the
//! time is over for which the coordinator has renewed the session.
//!
//! That time is compared with the clock at each call. A process that was paused has other timers that are due before it
//! notices that its session is over, and what they start would be played by another worker already.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

/// Why no new call may start. Calls are admitted once all reasons are gone.
#[derive(Debug, Clone, Copy, Default)]
struct Closed {
    /// There was no sign of the coordinator for too long: it may lease our trials to other workers.
    away: bool,
    /// The buffer of unacknowledged results is full.
    full: bool,
    /// The coordinator may lease our trials to other workers then.
    lapses: Option<Instant>,
}

impl Closed {
    fn is_away(&self) -> bool {
        self.away || self.lapses.is_some_and(|at| at <= Instant::now())
    }

    fn is_open(&self) -> bool {
        !self.full && !self.is_away()
    }
}

/// A handle: the session and the outbox close and open it, calls wait for it.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    state: watch::Sender<Closed>,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(Closed::default()) }
    }

    pub(crate) fn set_away(&self, away: bool) {
        self.state.send_if_modified(|closed| std::mem::replace(&mut closed.away, away) != away);
    }

    /// No call starts from then on, unless a later time comes.
    pub(crate) fn lapse_at(&self, at: Instant) {
        self.state.send_modify(|closed| closed.lapses = Some(at));
    }

    pub(crate) fn is_away(&self) -> bool {
        self.state.borrow().is_away()
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.state.send_if_modified(|closed| std::mem::replace(&mut closed.full, full) != full);
    }

    /// Waits until a call may start, usually not at all. Returns how long it waited.
    pub(crate) async fn pass(&self) -> Duration {
        if self.state.borrow().is_open() {
            return Duration::ZERO;
        }
        let began = Instant::now();
        let mut changes = self.state.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = changes.wait_for(Closed::is_open).await;
        began.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn opens_only_when_every_reason_is_gone() {
        let admission = Admission::new();
        admission.pass().await;
        admission.set_away(true);
        admission.set_full(true);
        let waiting = tokio::spawn({
            let admission = admission.clone();
            async move { admission.pass().await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        admission.set_away(false);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!waiting.is_finished());
        admission.set_full(false);
        assert_eq!(waiting.await.unwrap().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_starts_after_the_renewed_time_although_nobody_has_noticed() {
        let admission = Admission::new();
        admission.lapse_at(Instant::now() + Duration::from_secs(20));
        admission.pass().await;
        // Nothing of the process runs meanwhile.
        tokio::time::advance(Duration::from_secs(32)).await;
        assert!(admission.is_away());
        let waiting = tokio::spawn({
            let admission = admission.clone();
            async move { admission.pass().await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        admission.lapse_at(Instant::now() + Duration::from_secs(20));
        assert_eq!(waiting.await.unwrap().as_secs(), 1);
    }
}
