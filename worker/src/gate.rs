//! Leave to start a call: withheld while the coordinator is away or results pile up.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

/// Why no new call may start. All reasons must be gone before the gate opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Closed {
    /// The coordinator has not been heard for too long, so it may lend our trials to others.
    away: bool,
    /// The buffer of unacknowledged results is full.
    full: bool,
}

/// The side that opens and closes.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    state: watch::Sender<Closed>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(Closed::default()) }
    }

    pub(crate) fn set_away(&self, away: bool) {
        self.state.send_if_modified(|closed| std::mem::replace(&mut closed.away, away) != away);
    }

    pub(crate) fn is_away(&self) -> bool {
        self.state.borrow().away
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.state.send_if_modified(|closed| std::mem::replace(&mut closed.full, full) != full);
    }

    /// Returns when a call may start, and how long that took; at once in the usual case.
    pub(crate) async fn pass(&self) -> Duration {
        if *self.state.borrow() == Closed::default() {
            return Duration::ZERO;
        }
        let began = Instant::now();
        let mut changes = self.state.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = changes.wait_for(|closed| *closed == Closed::default()).await;
        began.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn opens_only_when_every_reason_is_gone() {
        let gate = Gate::new();
        gate.pass().await;
        gate.set_away(true);
        gate.set_full(true);
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.pass().await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        gate.set_away(false);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!waiting.is_finished());
        gate.set_full(false);
        assert_eq!(waiting.await.unwrap().as_secs(), 5);
    }
}
