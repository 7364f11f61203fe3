//! The result of a session, as lines for a terminal and as a Markdown page.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use invariants::Findings;

use super::{
    fault::{Fault, list},
    options::Store,
    play::Calm,
    script::Step,
};

/// Of one run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) script: Vec<Step>,
    /// `None`: it did not end.
    pub(crate) took: Option<Duration>,
    pub(crate) limit: Duration,
    /// Strikes with `kill -9`, and the processes that they met.
    pub(crate) kills: u32,
    pub(crate) processes: u32,
    pub(crate) struck: BTreeMap<Fault, u32>,
    /// Attempts.
    pub(crate) lost: Option<u64>,
    pub(crate) broken: Vec<String>,
    findings: Findings,
    pub(crate) note: String,
    skipped: bool,
}

impl Outcome {
    pub(crate) fn new(name: &str, script: Vec<Step>) -> Self {
        Self { name: name.to_owned(), script, ..Self::default() }
    }

    /// Takes what a look at invariants found.
    pub(crate) fn look(&mut self, findings: Findings) {
        self.broken.extend(findings.broken());
        self.findings.extend(findings);
    }

    /// So many processes crashed at the point that was asked for.
    pub(crate) fn crashed(&mut self, crashes: u32) {
        self.kills += crashes;
        self.processes += crashes;
        if crashes != 1 {
            self.broken.push(format!("{crashes} processes crashed at the point: is it a build with crash-points?"));
        }
    }

    pub(crate) fn skipped(&mut self, why: &str) {
        self.skipped = true;
        self.note = format!("NOT PLAYED: {why}");
    }

    fn took(&self) -> String {
        let limit = self.limit.as_secs_f64();
        match self.took {
            Some(took) => format!("{:.1} s of {limit:.1} s", took.as_secs_f64()),
            None if self.skipped => "–".to_owned(),
            None => format!("no end within {limit:.1} s"),
        }
    }

    fn verdict(&self) -> String {
        match self.broken.len() {
            0 if self.skipped => "not played".to_owned(),
            0 => "ok".to_owned(),
            count => format!("{count} broken"),
        }
    }

    fn struck(&self) -> String {
        let others = self.struck.iter().filter(|(fault, _)| !fault.is_kill() && !fault.is_case());
        let others: Vec<String> = others
            .map(|(fault, times)| if *times == 1 { fault.name() } else { format!("{} {}", times, fault.name()) })
            .collect();
        if others.is_empty() { "–".to_owned() } else { others.join(", ") }
    }

    fn line(&self) -> String {
        let Self { name, kills, processes, lost, .. } = self;
        let lost = lost.map_or_else(|| "?".to_owned(), |lost| lost.to_string());
        let mut line = format!(
            "{name}: {}, {}, {kills} kills of {processes} processes, {lost} attempts lost; {}",
            self.verdict(),
            self.took(),
            self.struck()
        );
        if !self.note.is_empty() {
            let _ = write!(line, "; {}", self.note);
        }
        line
    }
}

/// Of all runs.
#[derive(Debug)]
pub(crate) struct Results {
    /// The fleet, its faults and their seed, in words.
    what: String,
    asked: String,
    /// How long the undisturbed run took, and how long others may take.
    calm: Option<(Duration, Duration)>,
    outcomes: Vec<Outcome>,
    broke_off: Option<String>,
}

impl Results {
    pub(crate) fn new(seed: u64, kills: u32, faults: &[Fault]) -> Self {
        let faults = list(faults);
        let asked = format!("cargo xtask chaos --seed {seed} --kills {kills} --faults {faults}");
        let what = format!(
            "300 trials, 3 workers with 8 slots, SQLite, the mock as agent behind a socket. Seed {seed}, faults {faults}."
        );
        Self { what, asked, calm: None, outcomes: Vec::new(), broke_off: None }
    }

    pub(crate) fn of_points(seed: u64, store: Store) -> Self {
        let (fleet, flags) = match store {
            Store::Sqlite => ("80 trials with a budget, 2 workers with 4 slots, SQLite", ""),
            Store::Postgres => (
                "120 trials with a budget, two coordinators on PostgreSQL, 5 workers with 8 slots",
                " --store postgres",
            ),
        };
        let what = format!(
            "{fleet}, the mock as agent behind a socket. In each run one process crashes at a named point of its code, at the \
             visit that is named. Seed {seed}."
        );
        let asked = format!("cargo xtask chaos --points{flags} --seed {seed}");
        Self { what, asked, calm: None, outcomes: Vec::new(), broke_off: None }
    }

    pub(crate) fn undisturbed(&mut self, calm: &Calm) {
        self.announce(calm.trials, calm.took, calm.limit());
    }

    #[expect(clippy::print_stdout, reason = "a session takes minutes: each run is printed when it has ended")]
    pub(crate) fn announce(&mut self, trials: u64, took: Duration, limit: Duration) {
        let (seconds, limit_seconds) = (took.as_secs_f64(), limit.as_secs_f64());
        println!(
            "undisturbed: {trials} trials in {seconds:.1} s, so that a disturbed run may take {limit_seconds:.1} s"
        );
        self.calm = Some((took, limit));
    }

    #[expect(clippy::print_stdout, reason = "a session takes minutes: each run is printed when it has ended")]
    pub(crate) fn add(&mut self, outcome: Outcome) {
        println!("{}", outcome.line());
        for broken in &outcome.broken {
            println!("  BROKEN {broken}");
        }
        if !outcome.broken.is_empty() && !outcome.script.is_empty() {
            println!("  the script: {}", script(&outcome.script));
        }
        self.outcomes.push(outcome);
    }

    pub(crate) fn broke_off(&mut self, error: &anyhow::Error) {
        self.broke_off = Some(format!("{error:#}"));
    }

    pub(crate) fn kills(&self) -> u32 {
        self.outcomes.iter().map(|outcome| outcome.kills).sum()
    }

    fn broken(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.broken.len()).sum()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.broken() == 0 && self.broke_off.is_none()
    }

    pub(crate) fn summary(&self) -> String {
        let processes: u32 = self.outcomes.iter().map(|outcome| outcome.processes).sum();
        let lost: u64 = self.outcomes.iter().filter_map(|outcome| outcome.lost).sum();
        let mut all = Findings::default();
        self.outcomes.iter().for_each(|outcome| all.extend(outcome.findings.clone()));
        format!(
            "{} runs, {} kills of {processes} processes, {lost} attempts lost; looked at {}; {} rules broken\n",
            self.outcomes.len(),
            self.kills(),
            all.looked_at(),
            self.broken()
        )
    }

    /// A page for `bench/results/`.
    pub(crate) fn markdown(&self) -> String {
        let Self { what, asked, calm, outcomes, broke_off } = self;
        let today = chrono::Utc::now().format("%Y-%m-%d");
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let mut page =
            format!("# A fleet of processes under faults, {today}\n\n`{asked}`, on a machine with {cores} cores.\n\n");
        if let Some((calm, limit)) = calm {
            let _ = write!(
                page,
                "{what}\n\nUndisturbed the run takes {:.1} s. A run may take {:.1} s.\n\n",
                calm.as_secs_f64(),
                limit.as_secs_f64()
            );
        }
        let _ = writeln!(page, "{}", self.summary());
        page.push_str("| run | result | time, and limit | kills (processes) | attempts lost | other faults |\n|---|---|---|---|---|---|\n");
        for outcome in outcomes {
            let Outcome { name, kills, processes, lost, .. } = outcome;
            let lost = lost.map_or_else(|| "–".to_owned(), |lost| lost.to_string());
            let other = if outcome.note.is_empty() { outcome.struck() } else { outcome.note.clone() };
            let (verdict, took) = (outcome.verdict(), outcome.took());
            let _ =
                writeln!(page, "| {name} | {verdict} | {took} | {kills} ({processes}) | {lost} | {} |", cell(&other));
        }
        page.push_str(RULES);
        if let Some(error) = broke_off {
            let _ = write!(page, "\nThe session broke off: {error}\n");
        }
        for outcome in outcomes.iter().filter(|outcome| !outcome.broken.is_empty()) {
            let _ = write!(page, "\n## Broken: {}\n\n", outcome.name);
            for broken in &outcome.broken {
                let _ = writeln!(page, "- {}", cell(broken));
            }
            let _ = write!(page, "\nScript: {}\n", script(&outcome.script));
        }
        page
    }
}

const RULES: &str = "
Each run was held against the invariants that are named above (docs/protocol.md says what they are), also against the mock's own record of the calls.
Besides, the watcher ends with the code of the undisturbed run, no process ends by itself or panics, and SIGTERM is obeyed.
";

fn script(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// In a table, in one line.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
