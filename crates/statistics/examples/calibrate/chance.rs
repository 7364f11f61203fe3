//! Chance from a seed, and experiments on all cores.

use std::thread;

use rand_distr::{Beta, Distribution as _, LogNormal, StandardNormal};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

/// The draws of one experiment.
#[derive(Debug, Clone)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new(seed: u64, procedure: u64, number: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ procedure.wrapping_mul(0xD1B5_4A32_D192_ED03) ^ number;
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform, from 0 to less than 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn is(&mut self, rate: f64) -> bool {
        self.share() < rate
    }

    /// How many of `trials` pass.
    pub(crate) fn passes(&mut self, trials: u64, rate: f64) -> u64 {
        (0..trials).filter(|_| self.is(rate)).count() as u64
    }

    /// A rate of a population in which most scenarios nearly always pass and some nearly always fail.
    pub(crate) fn rate(&mut self, mean: f64, spread: f64) -> f64 {
        let beta = Beta::new(mean * spread, (1.0 - mean) * spread).expect("both are positive");
        beta.sample(&mut self.0)
    }

    /// The duration of a conversation; the median is 1.
    pub(crate) fn duration(&mut self) -> f64 {
        LogNormal::new(0.0, 0.5).expect("a finite spread").sample(&mut self.0)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }
}

/// What each experiment gives, in any order.
pub(crate) fn play<T: Send>(
    experiments: u64,
    seed: u64,
    procedure: u64,
    one: impl Fn(&mut Chance) -> T + Sync,
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let of_thread = |first: usize| -> Vec<T> {
        let numbers = (first as u64..experiments).step_by(threads);
        numbers.map(|number| one(&mut Chance::new(seed, procedure, number))).collect()
    };
    thread::scope(|scope| {
        let of_thread = &of_thread;
        let threads: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("an experiment does not panic")).collect()
    })
}
