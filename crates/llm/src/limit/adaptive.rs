//! Adaptive concurrency (`concurrency: auto`): how many calls an endpoint takes at the same time, found by trying.
//!
//! Additive increase is five percent a round, multiplicative decrease a fifth for each episode of 429s. Until the first one the
//! level doubles each round. Other failures do not cut it: they say nothing about how many calls are too many.

use std::time::Duration;

use tokio::time::Instant;

/// Calls of the whole fleet.
const START: f64 = 20.0;
const MOST: f64 = 100.0;
const CUT: f64 = 0.8;
const GROWTH: f64 = 1.05;
/// The least time between two cuts: answers to calls of before say nothing new.
pub(super) const COOLDOWN: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Adaptive {
    level: f64,
    /// It was never cut.
    starts: bool,
    /// Calls of this round that were answered.
    answered: u64,
    /// Some call of this round waited for a slot: without that, a round proves nothing.
    was_full: bool,
    cut_again_at: Option<Instant>,
}

impl Adaptive {
    pub(super) fn new() -> Self {
        Self { level: START, starts: true, answered: 0, was_full: false, cut_again_at: None }
    }

    /// Of the whole fleet, at least 1.
    pub(super) fn level(&self) -> u64 {
        self.level as u64
    }

    pub(super) fn is_full(&mut self) {
        self.was_full = true;
    }

    /// A call was answered. `slots`: of this process now. Whether the level has changed.
    pub(super) fn answered(&mut self, slots: u64) -> bool {
        self.answered += 1;
        if self.answered < slots.max(1) {
            return false;
        }
        let (before, was_full) = (self.level(), std::mem::take(&mut self.was_full));
        self.answered = 0;
        if was_full {
            let grown = if self.starts { self.level * 2.0 } else { (self.level * GROWTH).max(self.level + 1.0) };
            self.level = grown.min(MOST);
        }
        self.level() != before
    }

    /// A call got a 429. `pause`: what it asked for. Whether this begins an episode, which cuts the level.
    pub(super) fn throttled(&mut self, pause: Duration, now: Instant) -> bool {
        if self.cut_again_at.is_some_and(|at| now < at) {
            return false;
        }
        self.cut_again_at = Some(now + pause.max(COOLDOWN));
        self.level = (self.level * CUT).max(1.0);
        (self.starts, self.answered, self.was_full) = (false, 0, false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(adaptive: &mut Adaptive) -> u64 {
        adaptive.is_full();
        for _ in 0..adaptive.level() {
            adaptive.answered(adaptive.level());
        }
        adaptive.level()
    }

    #[tokio::test(start_paused = true)]
    async fn it_doubles_until_the_first_cut_and_then_grows_slowly() {
        let (mut adaptive, now) = (Adaptive::new(), Instant::now());
        assert_eq!([round(&mut adaptive), round(&mut adaptive)], [40, 80]);
        assert!(adaptive.throttled(Duration::ZERO, now));
        assert!(!adaptive.throttled(Duration::ZERO, now + COOLDOWN / 2), "once for each episode");
        assert_eq!(adaptive.level(), 64);
        assert_eq!([round(&mut adaptive), round(&mut adaptive)], [67, 70]);
        assert!(adaptive.throttled(Duration::from_secs(90), now + COOLDOWN));
        assert!(!adaptive.throttled(Duration::ZERO, now + COOLDOWN + Duration::from_secs(80)), "it asked for 90 s");
        assert_eq!(adaptive.level(), 56);
        for _ in 0..50 {
            round(&mut adaptive);
        }
        assert_eq!(adaptive.level(), 100, "the most");
        for cut in 0..100 {
            adaptive.throttled(Duration::ZERO, now + COOLDOWN * (cut + 10));
        }
        assert_eq!(adaptive.level(), 1, "never nothing");
        assert_eq!(round(&mut adaptive), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_round_in_which_no_call_waited_proves_nothing() {
        let mut adaptive = Adaptive::new();
        for _ in 0..1_000 {
            assert!(!adaptive.answered(20));
        }
        assert_eq!(adaptive.level(), 20);
    }
}
