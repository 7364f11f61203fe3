//! The real coordinator and the real workers on a simulated network (turmoil): gRPC, leases, limits and money, with the
//! store in memory and an agent that keeps a ledger. Each seed is a script of faults; after it, everything must be as
//! without them.
//!
//! `GABFEST_SEEDS`, `GABFEST_FIRST_SEED`: which seeds. A seed that fails leaves its history in a file.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};

use self::{
    events::Events,
    script::Script,
    world::{Played, play},
};

mod chance;
mod checks;
mod events;
mod faulty_store;
mod network;
mod person;
mod provider;
mod script;
#[path = "../support/staff.rs"]
mod staff;
mod world;

/// Of a usual test run.
const SEEDS: u64 = 40;

fn number_from(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
        Err(_) => otherwise,
    }
}

/// The longest script of its kind without faults: its trials are what those of all others must be.
fn undisturbed(talks: bool) -> Played {
    let script = Script::undisturbed(talks);
    play(&script, &world::plan(&script), &Arc::default()).unwrap_or_else(|error| panic!("without faults: {error}"))
}

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    // In this thread: no other one may wait with a timeout while the clock is simulated.
    args.test_threads = Some(1);
    let test = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let tests = vec![
        test("everything_is_as_without_faults_whatever_fails", everything_is_as_without_faults_whatever_fails),
        test("one_seed_is_one_history", one_seed_is_one_history),
    ];
    libtest_mimic::run(&args, tests).exit_code()
}

fn everything_is_as_without_faults_whatever_fails() {
    let (seeds, first) = (number_from("GABFEST_SEEDS", SEEDS), number_from("GABFEST_FIRST_SEED", 0));
    let (talks, questions) = (undisturbed(true), undisturbed(false));
    let mut kinds = BTreeSet::new();
    for seed in first..first.saturating_add(seeds) {
        let script = Script::of(seed);
        let expected = if script.talks { &talks } else { &questions };
        let events = Arc::new(Events::default());
        let checked =
            play(&script, &world::plan(&script), &events).and_then(|played| checks::check(&script, &played, expected));
        if let Err(violation) = checked {
            let history = history(seed, &events);
            panic!("seed {seed}: {violation}\n{script:#?}\nits history: {history}");
        }
        kinds.extend(script.faults.iter().map(|(_, fault)| fault.kind()));
    }
    assert!(seeds < SEEDS || kinds.len() == 12, "the scripts must have every kind of fault: {kinds:?}");
}

/// Where the history of the seed is written.
fn history(seed: u64, events: &Events) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulation-{seed}.txt"));
    fs::write(&path, events.all().join("\n")).unwrap();
    path.display().to_string()
}

fn one_seed_is_one_history() {
    for seed in 0..3 {
        let script = Script::of(seed);
        let plan = world::plan(&script);
        let [first, second] = [(); 2].map(|()| {
            let events = Arc::new(Events::default());
            play(&script, &plan, &events).unwrap();
            events
        });
        let differs =
            first.all().into_iter().zip(second.all()).enumerate().find(|(_, (first, second))| first != second);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.hash(), second.hash(), "seed {seed}");
        assert!(first.all().len() > 50, "{}", first.all().len());
    }
}
