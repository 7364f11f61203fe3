//! `cargo xtask chaos`: plays runs on a fleet of processes under faults, and compares them with an undisturbed run.
//!
//! It uses only the program, its files and its output, and none of gabfest's crates.

mod chance;
pub(crate) mod clock;
mod disk;
mod fault;
mod fleet;
mod found;
mod link;
mod options;
mod place;
mod play;
mod points;
mod postmaster;
mod process;
mod result;
mod script;
mod several;
mod slow_disk;
mod slow_link;
mod storm;

use anyhow::{Context as _, ensure};

use fault::Fault;
pub(crate) use options::Chaos;
use options::Store;
use place::Place;
use result::Results;

#[expect(clippy::print_stdout, reason = "the result is what the task is for")]
pub(crate) fn run(chaos: &Chaos) -> anyhow::Result<()> {
    let binary = chaos.binary.clone().unwrap_or_else(place::debug_build);
    let binary = binary
        .canonicalize()
        .with_context(|| format!("failed to find {}: build it with `cargo build`", binary.display()))?;
    let place = Place::new(binary)?;
    if chaos.store == Store::Postgres && !chaos.points {
        return on_postgres(chaos, place);
    }
    let (mut results, ended);
    if chaos.points {
        println!("chaos: seed {}, crashes at named points", chaos.seed);
        results = Results::of_points(chaos.seed, chaos.store);
        ended = match chaos.store {
            Store::Sqlite => points::run(chaos, &place, &mut results),
            Store::Postgres => several::crash_points(chaos, &place, &mut results),
        };
    } else {
        let faults = fault::chosen(&chaos.faults);
        println!("chaos: seed {}, {} kills, {}", chaos.seed, chaos.kills, fault::list(&faults));
        results = Results::new(chaos.seed, chaos.kills, &faults);
        ended = play_all(chaos, &faults, &place, &mut results);
    }
    // Partial results are useful too.
    if let Err(error) = &ended {
        results.broke_off(error);
    }
    print!("{}", results.summary());
    if let Some(file) = &chaos.out {
        std::fs::write(file, results.markdown()).with_context(|| format!("failed to write {}", file.display()))?;
    }
    if results.is_clean() && !chaos.keep {
        return Ok(());
    }
    let kept = place.keep();
    println!("logs, stores and reports of all runs are kept in {}", kept.display());
    ended?;
    ensure!(results.is_clean(), "rules were broken");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result is what the task is for")]
fn on_postgres(chaos: &Chaos, place: Place) -> anyhow::Result<()> {
    ensure!(chaos.trials.is_multiple_of(2), "--trials is an even number: the plan has two scenarios");
    println!(
        "chaos: seed {}, {} kills, two coordinators on PostgreSQL, {} trials",
        chaos.seed, chaos.kills, chaos.trials
    );
    let outcome = several::run(chaos, &place);
    if let Ok(outcome) = &outcome {
        print!("{}", outcome.summary());
        if let Some(file) = &chaos.out {
            std::fs::write(file, outcome.markdown()).with_context(|| format!("failed to write {}", file.display()))?;
        }
    }
    let is_clean = outcome.as_ref().is_ok_and(|outcome| outcome.broken.is_empty());
    if !is_clean || chaos.keep {
        println!("logs and reports of all runs are kept in {}", place.keep().display());
    }
    outcome?;
    ensure!(is_clean, "rules were broken");
    Ok(())
}

fn play_all(chaos: &Chaos, faults: &[Fault], place: &Place, results: &mut Results) -> anyhow::Result<()> {
    let mixed = faults.iter().any(|fault| !fault.is_case());
    if faults.iter().any(|fault| *fault != Fault::SlowLink) {
        let calm = storm::undisturbed(place)?;
        results.undisturbed(&calm);
        if faults.contains(&Fault::KillStorm) {
            results.add(storm::kill_storm(chaos.seed, place, &calm)?);
        }
        if faults.contains(&Fault::CrashLoop) {
            results.add(storm::crash_loop(place, &calm)?);
        }
        if faults.contains(&Fault::FullDisk) {
            results.add(disk::full(place, &calm)?);
        }
        if faults.contains(&Fault::SlowDisk) {
            results.add(slow_disk::play(chaos.seed, place, &calm)?);
        }
        // Their kills count too.
        if mixed {
            storm::rounds(chaos, faults, place, &calm, results)?;
        }
    }
    if faults.contains(&Fault::SlowLink) {
        results.add(slow_link::play(chaos.seed, place)?);
    }
    Ok(())
}
