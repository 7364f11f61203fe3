//! Tests the scheduler with many seeded scripts of faults, and prints the result.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

const TEST: &str = "scheduler::simulation::every_trial_is_done_exactly_once_whatever_fails";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub(crate) struct Seeds {
    /// Number of seeds
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first: u64,
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
    let took = result.rsplit(';').next().unwrap_or(result).trim();
    let Seeds { seeds, first } = seeds;
    println!("{seeds} seeds from {first}: no violation, {took}");
    Ok(())
}

fn command(seeds: Seeds) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["test", "--profile", "simulate", "--package", "gabfest-coordinator", "--lib", "--", "--exact", TEST])
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
            (&[], Some((10_000, 0))),
            (&["--seeds", "7"], Some((7, 0))),
            (&["--first", "600", "--seeds", "9"], Some((9, 600))),
            (&["--seeds", "0"], None),
            (&["--seeds", "many"], None),
        ];
        for (arguments, expected) in rows {
            let parsed = Args::try_parse_from(["xtask", "simulate"].iter().chain(arguments));
            let found = parsed.ok().map(|args| match args.task {
                Task::Simulate(Seeds { seeds, first }) => (seeds, first),
                _ => panic!("{arguments:?} is another task"),
            });
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    #[test]
    fn the_test_gets_its_seeds() {
        let command = command(Seeds { seeds: 7, first: 3 });
        let told: Vec<_> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?))).collect();
        assert_eq!(told, [("GABFEST_FIRST_SEED", "3"), ("GABFEST_SEEDS", "7")]);
        assert!(command.get_args().any(|argument| argument == TEST));
    }
}
