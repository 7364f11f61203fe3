//! What a seed decides: how many workers and runs there are, and what kind of misfortune they meet.

use std::collections::BTreeSet;

use super::Chance;

/// What happens in a seed.
pub(super) struct Script {
    pub(super) seed: u64,
    pub(super) workers: usize,
    pub(super) planned: Vec<u64>,
    /// This trial of the first run brings down every worker that plays it.
    pub(super) killer: Option<u64>,
    /// Nothing fails but what the killer brings down.
    pub(super) quiet: bool,
    /// The coordinator dies, and sessions end with it.
    pub(super) embedded: bool,
    /// Not every worker knows the agents of every run.
    pub(super) strangers: bool,
}

impl Script {
    pub(super) fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let runs = 1 + chance.below(3);
        Self {
            seed,
            workers: 1 + chance.below(5) as usize,
            planned: (0..runs).map(|_| chance.below(80)).collect(),
            killer: chance.one_in(3).then(|| chance.below(80)),
            quiet: chance.one_in(5),
            embedded: chance.one_in(3),
            strangers: chance.one_in(3),
        }
    }

    /// Each run has an agent of its own, named like it. The first worker knows all, so that everything can be played.
    pub(super) fn agents_of(&self, worker: usize) -> BTreeSet<String> {
        let known = |run: &usize| !self.strangers || worker == 0 || (worker + run).is_multiple_of(2);
        (0..self.planned.len()).filter(known).map(|run| format!("run-{run}")).collect()
    }
}
