//! `cargo xtask release-check`: plays the long suites one after another, and writes what each took beside its budget.
//!
//! `./test.sh` has a budget of 30 minutes on two cores, so what takes longer is here.

use std::{
    fmt::Write as _,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

/// A suite: its name, its budget on two cores, and its command. `{out}` is the folder of its results.
#[derive(Debug, Clone, Copy)]
struct Suite {
    name: &'static str,
    minutes: u64,
    command: &'static str,
}

const fn suite(name: &'static str, minutes: u64, command: &'static str) -> Suite {
    Suite { name, minutes, command }
}

/// In the order in which they are played: what fails soonest is first.
const SUITES: [Suite; 28] = [
    suite("ci", 30, ".ci/run"),
    suite("debug-build", 15, "cargo build"),
    suite("release-build", 20, "cargo build --release"),
    suite("expect-alone", 10, "cargo test --doc -p gabfest-expect"),
    suite("scheduler", 10, "cargo xtask simulate --seeds 10000"),
    suite("fleet", 180, "cargo xtask simulate --fleet --seeds 10000"),
    suite("mutants", 120, "cargo xtask mutants --out {out}/mutants.md"),
    suite("calibrate", 15, "cargo xtask calibrate --out {out}/calibrate.md"),
    suite("chaos", 45, "cargo xtask chaos --kills 200 --faults all --out {out}/chaos.md"),
    suite(
        "chaos-postgres",
        45,
        "cargo xtask chaos --store postgres --trials 5000 --kills 200 --pauses 40 --out {out}/chaos-postgres.md",
    ),
    suite(
        "chaos-slow-fsync",
        15,
        "cargo xtask chaos --store postgres --trials 1000 --kills 5 --slow-fsync 50 --out {out}/chaos-slow-fsync.md",
    ),
    suite(
        "crash-points-build",
        15,
        "cargo build --package gabfest --features crash-points --target-dir target/crash-points",
    ),
    suite(
        "crash-points",
        45,
        "cargo xtask chaos --points --binary target/crash-points/debug/gabfest --out {out}/crash-points.md",
    ),
    suite(
        "crash-points-postgres",
        60,
        "cargo xtask chaos --points --store postgres --binary target/crash-points/debug/gabfest --out {out}/crash-points-postgres.md",
    ),
    suite("fuzz", 240, "fuzz/run.sh 1000000"),
    suite("instructions", 5, "bench/instructions.py"),
    suite("bench", 150, "bench/run.py --save {out}/bench.md"),
    suite("soak", 35, "bench/soak.py"),
    suite("million", 15, "bench/million.py"),
    suite("million-postgres", 20, "bench/million.py --store postgres"),
    suite("data-rows", 5, "bench/data_rows.sh"),
    suite("truth", 10, "bench/truth/check.py"),
    suite("hostile", 15, "bench/hostile.sh"),
    suite("netns", 5, "bench/netns.sh"),
    suite("dialects", 5, "bench/dialects.py"),
    suite("doors", 15, "bench/doors/run.sh"),
    suite("real-model", 20, "bench/real_model.sh"),
    suite("believe", 75, "bench/believe/run.sh {out}/believe"),
];

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct ReleaseCheck {
    /// Print the suites with their budgets and commands, and play nothing
    #[arg(long)]
    list: bool,
    /// Play only these suites
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// The folder for logs and results
    #[arg(long, value_name = "DIR", default_value = "target/release-check")]
    out: PathBuf,
}

fn names() -> clap::builder::PossibleValuesParser {
    SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().into()
}

/// How a suite ended.
#[derive(Debug)]
struct Ended {
    suite: Suite,
    took: Duration,
    /// `None`: a signal ended it.
    code: Option<i32>,
}

impl Ended {
    const fn is_over_budget(&self) -> bool {
        self.took.as_secs() > self.suite.minutes * 60
    }

    fn is_good(&self) -> bool {
        self.code == Some(0) && !self.is_over_budget()
    }

    fn outcome(&self) -> String {
        match self.code {
            Some(0) if self.is_over_budget() => "over its budget".to_owned(),
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed, exit code {code}"),
            None => "failed, ended by a signal".to_owned(),
        }
    }
}

/// Plays every chosen suite, also after one that failed. Fails if one failed or took longer than its budget.
#[expect(clippy::print_stdout, reason = "the result is what the task is for")]
pub(crate) fn run(check: &ReleaseCheck) -> anyhow::Result<()> {
    let is_chosen = |suite: &&Suite| check.only.is_empty() || check.only.iter().any(|name| name == suite.name);
    let chosen: Vec<Suite> = SUITES.iter().filter(is_chosen).copied().collect();
    if check.list {
        print!("{}", list(&chosen));
        return Ok(());
    }
    std::fs::create_dir_all(&check.out).with_context(|| format!("failed to make {}", check.out.display()))?;
    let out = check.out.canonicalize()?;
    let mut all = Vec::new();
    for suite in chosen {
        println!("{}: {} min at most: {}", suite.name, suite.minutes, suite.command);
        let ended = play(suite, &out)?;
        println!("{}: {} after {:.1} min", suite.name, ended.outcome(), ended.took.as_secs_f64() / 60.0);
        all.push(ended);
        // A later suite may take hours, and somebody may stop it.
        let page = out.join("release-check.md");
        std::fs::write(&page, markdown(&all)).with_context(|| format!("failed to write {}", page.display()))?;
    }
    let bad: Vec<&str> = all.iter().filter(|ended| !ended.is_good()).map(|ended| ended.suite.name).collect();
    ensure!(bad.is_empty(), "failed or over budget: {}; their logs are in {}", bad.join(", "), out.display());
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a task of developers measures real time")]
fn play(suite: Suite, out: &Path) -> anyhow::Result<Ended> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = out.join(format!("{}.log", suite.name));
    let log = File::create(&path).with_context(|| format!("failed to write {}", path.display()))?;
    let out = out.display().to_string();
    let mut words = suite.command.split(' ').map(|word| word.replace("{out}", &out));
    let began = Instant::now();
    let status = Command::new(words.next().unwrap_or_default())
        .args(words)
        .current_dir(root)
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()
        .with_context(|| format!("failed to start {}", suite.command))?;
    Ok(Ended { suite, took: began.elapsed(), code: status.code() })
}

fn list(suites: &[Suite]) -> String {
    let mut text = String::new();
    for Suite { name, minutes, command } in suites {
        let _ = writeln!(text, "{name:<16}{minutes:>5} min  {}", command.replace("{out}", "OUT"));
    }
    let hours = suites.iter().map(|suite| suite.minutes).sum::<u64>() as f64 / 60.0;
    let _ = writeln!(text, "{hours:.1} hours at most");
    text
}

fn markdown(all: &[Ended]) -> String {
    let mut text =
        "# Release check\n\n| suite | command | minutes | budget | outcome |\n|---|---|---|---|---|\n".to_owned();
    for ended in all {
        let Suite { name, minutes, command } = ended.suite;
        let command = command.replace("{out}", "OUT");
        let took = ended.took.as_secs_f64() / 60.0;
        let _ = writeln!(text, "| {name} | `{command}` | {took:.1} | {minutes} | {} |", ended.outcome());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_is_there_and_in_the_guide() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let guide = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
        for Suite { name, command, .. } in SUITES {
            let mut words = command.split(' ');
            match words.next().unwrap() {
                "cargo" => {}
                script => assert!(root.join(script).exists(), "{name}: {script}"),
            }
            let task = command.split(" --").next().unwrap().split(" {").next().unwrap();
            let known = guide.contains(task.trim_end_matches(" 1000000")) || command.starts_with("cargo build");
            assert!(known, "{name}: CONTRIBUTING.md does not explain `{task}`");
        }
    }

    #[test]
    fn a_suite_is_good_if_it_ends_with_0_within_its_budget() {
        let ended =
            |code, minutes: u64| Ended { suite: suite("x", 10, "x"), took: Duration::from_secs(minutes * 60), code };
        assert!(ended(Some(0), 10).is_good());
        assert_eq!(ended(Some(0), 11).outcome(), "over its budget");
        assert_eq!(ended(Some(2), 1).outcome(), "failed, exit code 2");
        assert!(!ended(None, 1).is_good());
        let page = markdown(&[ended(Some(0), 3)]);
        assert!(page.ends_with("| x | `x` | 3.0 | 10 | passed |\n"), "{page}");
    }
}
