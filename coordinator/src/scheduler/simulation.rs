//! Plays the scheduler against seeded scripts: workers that crash, freeze, lose streams, forget and repeat themselves;
//! a coordinator that restarts, crash-loops and oversleeps; runs that are drained, paused and resumed, and loads whose rates
//! change.
//!
//! The store is the real in-memory store, so that the scheduler's state can be compared with what is stored.

use std::{collections::BTreeSet, time::Duration};

use self::{mutation::Mutation, script::FaultScript, world::World};

mod batch;
mod chance;
mod control;
mod faults;
mod ledger;
mod mutation;
mod script;
mod worker;
mod world;

/// How many seeds to play, unless `GABFEST_SEEDS` is set; enough to reach every situation.
const SEEDS: u64 = 600;

#[test]
fn every_trial_is_done_exactly_once_whatever_fails() {
    // `cargo xtask simulate` sets them.
    let (seeds, first) = (number_from("GABFEST_SEEDS", SEEDS), number_from("GABFEST_FIRST_SEED", 0));
    let mut seen = BTreeSet::new();
    for seed in first..first.saturating_add(seeds) {
        let world = World::new(FaultScript::of(seed), Mutation::None);
        match world.play() {
            Ok(ledger) => seen.extend(ledger.events),
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    let scripted = [
        "another rate",
        "duplicate batch",
        "fenced trial",
        "given up",
        "goodbye",
        "interrupted",
        "load",
        "lost",
        "lost before it began",
        "paused",
        "poisoned",
        "reclaimed",
        "repeated grant",
        "replayed",
        "resumed in a drain",
        "resumed session",
        "returned",
        "suspects",
        "two runs",
        "unknown agent",
    ];
    if seeds >= SEEDS {
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), scripted, "the scripts must meet every situation");
    }
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
        Err(_) => otherwise,
    }
}

#[test]
fn one_seed_is_one_history() {
    let mut orders = 0;
    for seed in 0..8 {
        let play = || World::new(FaultScript::of(seed), Mutation::None).recorded().play().unwrap().history.unwrap();
        let (first, second) = (play(), play());
        assert_eq!(first, second, "seed {seed}");
        orders += first.len();
    }
    assert!(orders > 1_000, "{orders}");
}

#[test]
fn each_line_of_the_protocol_is_needed() {
    for mutation in [
        Mutation::NoReconcile,
        Mutation::NoSweep,
        Mutation::EpochStays,
        Mutation::EndForgotten,
        Mutation::ReleaseForgotten,
        Mutation::AgentsIgnored,
    ] {
        let caught = (0..200).find(|seed| World::new(FaultScript::of(*seed), mutation).play().is_err());
        assert!(caught.is_some(), "{mutation:?} was not noticed in 200 seeds");
    }
}

/// How long the run takes, in virtual time.
fn seconds(workers: usize, slots: usize, planned: u64, kills: &[f64], seed: u64) -> f64 {
    let kills = kills.iter().copied().map(Duration::from_secs_f64).collect();
    match World::new(FaultScript::killed(seed, workers, slots, planned, kills), Mutation::None).play() {
        Ok(ledger) => ledger.finished_at.as_secs_f64(),
        Err(violation) => panic!("seed {seed}: {violation}"),
    }
}

/// Trials take 0.5 to 8.5 s here. A killed worker is missed for 3 s, and its trials start again.
#[test]
fn two_kills_cost_their_trials_and_no_solo_worker() {
    for seed in 0..10 {
        for planned in [64, 300] {
            let undisturbed = seconds(1, 64, planned, &[], seed);
            let killed = seconds(1, 64, planned, &[4.0, 9.0], seed);
            // The second one is noticed after 14 s.
            assert!(killed <= 14.0 + 2.0 * undisturbed, "seed {seed}, {planned}: {killed} s, and {undisturbed} s");
        }
    }
}

/// The audit checks that nothing is poisoned.
#[test]
fn forty_kills_in_a_minute_poison_nothing_and_end_soon_after() {
    let kills: Vec<f64> = (0..40).map(|kill| 3.0 + 1.5 * f64::from(kill)).collect();
    for seed in 0..10 {
        for (workers, slots) in [(1, 64), (3, 8), (3, 64)] {
            let undisturbed = seconds(workers, slots, 200, &[], seed);
            let killed = seconds(workers, slots, 200, &kills, seed);
            let bound = 63.0 + 2.0 * undisturbed + 30.0;
            assert!(killed <= bound, "seed {seed}, {workers} of {slots}: {killed} s, and {undisturbed} s");
        }
    }
}
