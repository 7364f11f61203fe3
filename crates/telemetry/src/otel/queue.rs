//! What waits to be sent, counted, so that what is dropped is known.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Spans and log records that never reached a collector: no room in the queue, or the collector did not take them.
#[derive(Debug, Default)]
pub struct Dropped {
    spans: Arc<AtomicU64>,
    logs: Arc<AtomicU64>,
}

impl Dropped {
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.spans.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn logs(&self) -> u64 {
        self.logs.load(Ordering::Relaxed)
    }

    pub(super) fn queue_of_spans(&self, most: usize) -> Queue {
        Queue::new(most, Arc::clone(&self.spans))
    }

    pub(super) fn queue_of_logs(&self, most: usize) -> Queue {
        Queue::new(most, Arc::clone(&self.logs))
    }
}

/// A bound on what waits. The SDK has one too, but tells nobody when it is reached.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    waiting: Arc<AtomicUsize>,
    most: usize,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    fn new(most: usize, dropped: Arc<AtomicU64>) -> Self {
        Self { waiting: Arc::default(), most, dropped }
    }

    /// Whether one more may wait; what may not is counted as dropped.
    pub(super) fn admits(&self) -> bool {
        let one_more = |waiting| (waiting < self.most).then_some(waiting + 1);
        let admitted = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        if !admitted {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        admitted
    }

    /// These wait no more: they are being sent.
    pub(super) fn leave(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    pub(super) fn lost(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }
}
