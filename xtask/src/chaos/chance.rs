//! Chance from a seed: the same script on every machine.

use std::time::Duration;

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

#[derive(Debug, Clone)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// `part` separates the draws of one seed, such as those of its rounds.
    pub(crate) fn new(seed: u64, part: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ part))
    }

    /// Uniform in 0..`end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end.max(1)
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// Uniform, both in milliseconds.
    pub(crate) fn between(&mut self, least_ms: u64, most_ms: u64) -> Duration {
        Duration::from_millis(least_ms + self.below(most_ms.saturating_sub(least_ms) + 1))
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        let place = usize::try_from(self.below(choices.len() as u64)).unwrap_or(0);
        choices.get(place).copied()
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let other = usize::try_from(self.below(end as u64 + 1)).unwrap_or(0);
            list.swap(end, other);
        }
    }
}
