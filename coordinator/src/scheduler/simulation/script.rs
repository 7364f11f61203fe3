//! What a seed decides: how many workers and runs there are, and what kind of misfortune they meet.

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
        }
    }
}
