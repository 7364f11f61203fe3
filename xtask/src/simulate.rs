//! Tests the scheduler, or the whole fleet, with many seeded scripts of faults, and prints the result.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

const OF_SCHEDULER: [&str; 6] = [
    "--profile",
    "simulate",
    "--package",
    "gabfest-coordinator",
    "--lib",
    "scheduler::simulation::every_trial_is_done_exactly_once_whatever_fails",
];
const OF_FLEET: [&str; 7] = [
    "--profile",
    "simulate",
    "--package",
    "gabfest",
    "--test",
    "simulation",
    "everything_is_as_without_faults_whatever_fails",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub(crate) struct Seeds {
    /// Number of seeds
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Play the real coordinator and workers on a simulated network, instead of the scheduler alone
    #[arg(long)]
    fleet: bool,
}

/// Stops at the first violation, with its seed in the test's output.
#[expect(clippy::print_stdout, reason = "the result is what the task is for")]
pub(crate) fn run(seeds: Seeds) -> anyhow::Result<()> {
    let done = command(seeds).output().context("failed to start cargo")?;
    let said = String::from_utf8_lossy(&done.stdout);
    ensure!(done.status.success(), "a seed was violated:\n{said}");
    // A renamed test would pass without running.
    let result = said.lines().find(|line| line.contains("1 passed"));
    let result = result.with_context(|| format!("the simulation was not found:\n{said}"))?;
    // The fleet's harness has a simulated clock.
    let took = result.rsplit(';').next().filter(|_| !seeds.fleet).map(|took| format!(", {}", took.trim()));
    let Seeds { seeds, first, .. } = seeds;
    println!("{seeds} seeds from {first}: no violation{}", took.unwrap_or_default());
    Ok(())
}

fn command(seeds: Seeds) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let test: &[&str] = if seeds.fleet { &OF_FLEET } else { &OF_SCHEDULER };
    command
        .arg("test")
        .args(test)
        .args(["--", "--exact"])
        .env("GABFEST_SEEDS", seeds.seeds.to_string())
        .env("GABFEST_FIRST_SEED", seeds.first.to_string())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stderr(Stdio::inherit());
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{Args, Task};

    #[test]
    fn seeds_are_read() {
        let rows: [(&[&str], _); 5] = [
            (&[], Some((10_000, 0, false))),
            (&["--seeds", "7"], Some((7, 0, false))),
            (&["--first", "600", "--seeds", "9", "--fleet"], Some((9, 600, true))),
            (&["--seeds", "0"], None),
            (&["--seeds", "many"], None),
        ];
        for (arguments, expected) in rows {
            let parsed = Args::try_parse_from(["xtask", "simulate"].iter().chain(arguments));
            let found = parsed.ok().map(|args| match args.task {
                Task::Simulate(Seeds { seeds, first, fleet }) => (seeds, first, fleet),
                _ => panic!("{arguments:?} is another task"),
            });
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    #[test]
    fn the_test_gets_its_seeds() {
        for (fleet, test) in [(false, OF_SCHEDULER.last()), (true, OF_FLEET.last())] {
            let command = command(Seeds { seeds: 7, first: 3, fleet });
            let told: Vec<_> =
                command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?))).collect();
            assert_eq!(told, [("GABFEST_FIRST_SEED", "3"), ("GABFEST_SEEDS", "7")]);
            assert!(command.get_args().any(|argument| argument.to_str() == test.copied()));
        }
    }
}
