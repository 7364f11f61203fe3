//! `cargo xtask calibrate`: how often verdicts are wrong, beside the chance that they state.
//!
//! The experiments in pure code are an example of the crate `statistics`, which is built with optimisation. Those through the real runner are a test
//! of the program: coordinator, worker and mock model on a paused clock.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

/// What a test of the program is called, and how its last line becomes a part of the page.
type Runner = (&'static str, fn(&[u64]) -> Option<String>);

const RUNNERS: [Runner; 2] = [
    ("one_process::decided::slow_failures_do_not_make_a_bad_agent_pass", decided),
    ("one_process::nights::two_nights_of_one_agent_are_rarely_called_worse", nights),
];

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Calibrate {
    /// Experiments for each line of the tables
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    experiments: u64,
    /// Experiments through the real runner; 0 for none
    #[arg(long, default_value_t = 300, value_name = "N")]
    runs: u64,
    /// Seed for all experiments in pure code
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Write the page to this file [default: bench/results/DATE-calibrate.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the page also if a procedure is wrong more often than it says, and then fails.
#[expect(clippy::print_stdout, reason = "the tables are what the task is for")]
pub(crate) fn run(calibrate: &Calibrate) -> anyhow::Result<()> {
    let done = command(calibrate).output().context("failed to start cargo")?;
    let tables = String::from_utf8_lossy(&done.stdout);
    ensure!(!tables.is_empty(), "the experiments did not run");
    print!("{tables}");
    let mut of_runner = String::new();
    for runner in RUNNERS.iter().filter(|_| calibrate.runs > 0) {
        of_runner.push_str(&played(runner, calibrate.runs)?);
    }
    let of_runner = if of_runner.is_empty() { of_runner } else { format!("## Through the real runner\n\n{of_runner}") };
    print!("{of_runner}");
    let today = chrono::Utc::now().format("%Y-%m-%d");
    let out = calibrate.out.clone().unwrap_or_else(|| top().join(format!("bench/results/{today}-calibrate.md")));
    let Calibrate { experiments, seed, runs, .. } = calibrate;
    let page = format!(
        "# How often verdicts are wrong, {today}\n\n`cargo xtask calibrate --experiments {experiments} --seed {seed} --runs {runs}`: \
         {experiments} experiments for each line that is not marked exact.\nA line is broken if chance alone explains \
         it in fewer than 1 of 10,000 sheets.\n\n{tables}{of_runner}"
    );
    fs::write(&out, page.trim_end().to_owned() + "\n").with_context(|| format!("failed to write {}", out.display()))?;
    println!("written to {}", out.display());
    ensure!(done.status.success(), "a procedure is wrong more often than it says");
    Ok(())
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn command(calibrate: &Calibrate) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args([
            "run",
            "--quiet",
            "--profile",
            "simulate",
            "--package",
            "gabfest-statistics",
            "--example",
            "calibrate",
            "--",
        ])
        .args([calibrate.experiments.to_string(), calibrate.seed.to_string()])
        .current_dir(top())
        .stderr(Stdio::inherit());
    command
}

/// Plays the runs of a test.
fn played((test, part): &Runner, runs: u64) -> anyhow::Result<String> {
    let done = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--package", "gabfest", "--test", "it", "--", "--exact", test, "--nocapture"])
        .env("GABFEST_EXPERIMENTS", runs.to_string())
        .current_dir(top())
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start cargo")?;
    let said = String::from_utf8_lossy(&done.stdout);
    ensure!(done.status.success(), "verdicts were wrong more often than they say:\n{said}");
    numbers(&said).and_then(|numbers| part(&numbers)).with_context(|| format!("the test was not found:\n{said}"))
}

/// The numbers of the test's last line.
fn numbers(said: &str) -> Option<Vec<u64>> {
    let numbers = said.lines().find_map(|line| line.split_once("calibrated: "))?.1;
    numbers.split_whitespace().map(|number| number.parse().ok()).collect()
}

fn share(count: u64, of: u64) -> String {
    format!("{:.2} %", count as f64 * 100.0 / of.max(1) as f64)
}

/// Runs with `--decide`, and the same trials without it for the order of completion.
fn decided(numbers: &[u64]) -> Option<String> {
    let [runs, launched, completed, played] = *numbers else { return None };
    Some(format!(
        "{runs} runs of one case with at most 200 repeats, 40 slots, failures that take 3 times as \
         long, true rate 0.8, mixture at 0.8: {:.0} conversations on average.\n\n| what | must be | was |\n|---|---|---|\n\
         | false PASS, as gabfest decides (launch order) | ≤ 5 % | {} |\n\
         | false PASS of the same trials in the order of completion | – | {} |\n\n",
        played as f64 / runs.max(1) as f64,
        share(launched, runs),
        share(completed, runs),
    ))
}

/// Two nights of one agent, and a third one in which it fell.
fn nights(numbers: &[u64]) -> Option<String> {
    let [pairs, worse, better, listed, found] = *numbers else { return None };
    Some(format!(
        "{pairs} pairs of nights of one agent with other seeds: 12 scenarios × 8, success rates from 0.6 to 0.95, each scenario has its \
         own night (logit ± 0.5), failures take 3 times as long.\n\n| what | must be | was |\n|---|---|---|\n\
         | A/A: the success rate is called worse | ≤ 5 % | {} |\n\
         | A/A: BETTER | ≤ 2.5 % | {} |\n\
         | A/A: a case is listed as worse | ≤ 5 % | {} |\n\
         | a fall of 15 points is found | – | {} |\n",
        share(worse, pairs),
        share(better, pairs),
        share(listed, pairs),
        share(found, pairs),
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{Args, Task};

    #[test]
    fn the_example_gets_what_was_asked() {
        let parsed = Args::try_parse_from(["xtask", "calibrate", "--experiments", "7", "--seed", "3"]);
        let Ok(Args { task: Task::Calibrate(calibrate) }) = parsed else { panic!("another task") };
        let arguments: Vec<String> =
            command(&calibrate).get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
        assert!(arguments.ends_with(&["--".to_owned(), "7".to_owned(), "3".to_owned()]), "{arguments:?}");
        assert!(Args::try_parse_from(["xtask", "calibrate", "--experiments", "0"]).is_err());
        assert_eq!(calibrate.runs, 300);
        // The package and the example that it names are there.
        assert!(top().join("crates/statistics/examples/calibrate/main.rs").exists());
    }
    #[test]
    fn the_line_of_a_test_becomes_a_table() {
        let numbers_of = |said| numbers(said).unwrap_or_default();
        let page =
            decided(&numbers_of("running 1 test\ncalibrated: 300 9 210 44700\ntest result: ok")).expect("a part");
        assert!(
            page.contains("149 conversations") && page.contains("| 3.00 % |") && page.contains("| 70.00 % |"),
            "{page}"
        );
        assert_eq!((numbers("running 0 tests"), decided(&[1])), (None, None));
        let page = nights(&numbers_of("calibrated: 200 4 2 1 150")).expect("a part");
        assert!(page.contains("| 2.00 % |") && page.contains("| 75.00 % |"), "{page}");
        for (test, _) in RUNNERS {
            let (module, name) = test.rsplit_once("::").expect("a name");
            let file = format!("crates/cli/tests/it/{}.rs", module.replace("::", "/"));
            let text = fs::read_to_string(top().join(file)).expect("the test");
            assert!(text.contains(&format!("async fn {name}(")), "{test} has another name");
        }
    }
}
