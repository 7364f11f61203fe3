//! What a seed decides: how many workers and runs there are, and which faults they meet.

use std::{collections::BTreeSet, time::Duration};

use super::chance::Chance;

/// The faults of one seed.
pub(super) struct FaultScript {
    pub(super) seed: u64,
    pub(super) workers: usize,
    pub(super) planned: Vec<u64>,
    /// This trial of the first run brings down every worker that plays it.
    pub(super) killer: Option<u64>,
    /// No faults except those of the killer.
    pub(super) quiet: bool,
    /// The coordinator dies, and sessions end with it.
    pub(super) embedded: bool,
    /// Of each worker; else a few.
    pub(super) slots: Option<usize>,
    /// A worker is killed at each of these times.
    pub(super) kills: Vec<Duration>,
    /// The coordinator crashes again and again, for ever.
    pub(super) crash_loop: Option<Duration>,
    /// This worker falls silent at this time.
    pub(super) dead: Option<(usize, Duration)>,
    /// Workers have different sets of agents.
    pub(super) strangers: bool,
    /// Runs are loads: their trials are due one after another, over this time.
    pub(super) load_seconds: Option<u64>,
}

impl FaultScript {
    pub(super) fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let runs = 1 + chance.below(3);
        let mut script = Self {
            seed,
            workers: 1 + chance.below(5) as usize,
            planned: (0..runs).map(|_| chance.below(80)).collect(),
            killer: chance.one_in(3).then(|| chance.below(80)),
            quiet: chance.one_in(5),
            embedded: chance.one_in(3),
            slots: None,
            kills: Vec::new(),
            crash_loop: None,
            dead: None,
            strangers: chance.one_in(3),
            load_seconds: (seed % 4 == 1).then_some(20 + seed % 50),
        };
        if !script.embedded && chance.one_in(5) {
            // No killer: this coordinator does not live long enough to find one.
            script.killer = None;
            script.crash_loop = Some(Duration::from_secs(12));
            script.dead = Some((1, Duration::from_millis(chance.below(30_000)))).filter(|_| script.workers > 1);
        }
        script
    }

    /// One run, with no faults but kills.
    pub(super) fn killed(seed: u64, workers: usize, slots: usize, planned: u64, kills: Vec<Duration>) -> Self {
        Self {
            seed,
            workers,
            planned: vec![planned],
            killer: None,
            quiet: true,
            embedded: false,
            slots: Some(slots),
            kills,
            crash_loop: None,
            dead: None,
            strangers: false,
            load_seconds: None,
        }
    }

    /// Each run has its own agent, with the run's name. The first worker has all agents, so that every run can be
    /// played.
    pub(super) fn agents_of(&self, worker: usize) -> BTreeSet<String> {
        let known = |run: &usize| !self.strangers || worker == 0 || (worker + run).is_multiple_of(2);
        (0..self.planned.len()).filter(known).map(|run| format!("run-{run}")).collect()
    }
}
