//! Counts queued items, so that the number of dropped ones is known.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// The numbers of spans and log records that were dropped: the queue was full, or the collector did not accept them.
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

/// The bound of the queue. The SDK has one too, but does not report drops.
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

    /// How many of these items may be queued: all or none, unless there are more than the queue can ever hold. The rest
    /// counts as dropped. The last quarter is for urgent items.
    pub(super) fn admits(&self, count: usize, urgent: bool) -> usize {
        let most = if urgent { self.most } else { self.most - self.most / 4 };
        let admitted = |waiting: usize| {
            let room = most.saturating_sub(waiting);
            if count > most || count <= room { count.min(room) } else { 0 }
        };
        let before = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| Some(waiting + admitted(waiting)))
            .unwrap_or_else(|waiting| waiting);
        let admitted = admitted(before);
        self.lost(count - admitted);
        admitted
    }

    /// Removes items that are being sent.
    pub(super) fn leave(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    pub(super) fn lost(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_waits_whole_or_not_at_all() {
        let dropped = Dropped::default();
        let queue = dropped.queue_of_spans(10);
        let urgent = |count| queue.admits(count, true);
        assert_eq!([urgent(6), urgent(5), urgent(4), urgent(1)], [6, 0, 4, 0]);
        assert_eq!(dropped.spans(), 6);
        queue.leave(10);
        assert_eq!([urgent(3), urgent(25)], [3, 7], "longer than the whole queue: its beginning");
        assert_eq!(dropped.spans(), 24);
    }

    #[test]
    fn there_is_room_for_failures_when_there_is_none_for_the_rest() {
        let dropped = Dropped::default();
        let queue = dropped.queue_of_spans(8);
        let rows =
            [(4, false, 4), (3, false, 0), (2, false, 2), (1, false, 0), (3, true, 0), (2, true, 2), (1, true, 0)];
        for (count, urgent, expected) in rows {
            assert_eq!(queue.admits(count, urgent), expected, "{count} {urgent}");
        }
        assert_eq!(dropped.spans(), 3 + 1 + 3 + 1);
        queue.leave(8);
        assert_eq!(queue.admits(25, false), 6, "its beginning, and no more than the others have");
    }
}
