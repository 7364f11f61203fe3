//! The queue of a mock that works on a few calls at once, as a server with limited capacity does.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The most calls at once that are kept apart; more never wait.
const MOST: u32 = 1 << 16;

/// When each of the places becomes free; `None`: there is room for every call.
#[derive(Debug, Clone)]
pub(crate) struct Queue(Option<Arc<Mutex<BinaryHeap<Reverse<Instant>>>>>);

impl Queue {
    /// `at_once`: 0 is any number.
    pub(crate) fn of(at_once: u32, now: Instant) -> Self {
        let places = || (0..at_once).map(|_| Reverse(now)).collect();
        Self((1..=MOST).contains(&at_once).then(|| Arc::new(Mutex::new(places()))))
    }

    /// Takes the place that is free first, for so long. Returns how long the call waits for it.
    pub(crate) fn wait(&self, now: Instant, takes: Duration) -> Duration {
        let Some(places) = &self.0 else { return Duration::ZERO };
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut first) = places.peek_mut() else { return Duration::ZERO };
        let begins = first.0.max(now);
        first.0 = begins + takes;
        begins - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_beyond_the_places_wait_for_the_first_that_is_free() {
        let now = Instant::now();
        let queue = Queue::of(2, now);
        let ms = Duration::from_millis;
        let waits = [100, 30, 10, 10].map(|takes| queue.wait(now, ms(takes)));
        assert_eq!(waits, [0, 0, 30, 40].map(ms));
        assert_eq!(queue.wait(now + ms(45), ms(1)), ms(5), "the place of the last one");
        assert_eq!(queue.wait(now + ms(200), ms(1)), Duration::ZERO);
        let any = Queue::of(0, now);
        assert!((0..1_000).all(|_| any.wait(now, ms(100)) == Duration::ZERO));
    }
}
