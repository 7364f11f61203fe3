//! Chance from a seed: the same on every machine and in every version.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

#[derive(Debug, Clone)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        // The upper 53 bits are what a double holds exactly.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..`end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f64) as usize).min(end.saturating_sub(1))
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let place = self.below(choices.len());
        choices.get(place)
    }

    /// This many different numbers of 0..`end`, in random order.
    pub fn distinct(&mut self, many: usize, end: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        let many = many.min(end);
        for place in 0..many {
            let other = place + self.below(end - place);
            all.swap(place, other);
        }
        all.truncate(many);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_range_and_follow_the_seed() {
        let mut chance = Chance::new(7);
        for end in 0..50 {
            let mut found = chance.distinct(end / 2, end);
            assert!(found.iter().all(|number| *number < end));
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), end / 2);
            assert!(chance.below(end) < end.max(1));
        }
        assert_eq!(Chance::new(3).unit(), Chance::new(3).unit());
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.unit())));
    }
}
