//! The result of a session with several coordinators, as lines for a terminal and as a Markdown page.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use invariants::Findings;

use super::{super::Chaos, fleet::Target};

/// The undisturbed run.
#[derive(Debug)]
pub(crate) struct Calm {
    pub(super) took: Duration,
    pub(super) code: i32,
    pub(super) view: String,
    /// In US dollars.
    pub(super) cost: f64,
}

impl Calm {
    pub(super) fn limit(&self) -> Duration {
        2 * self.took + Duration::from_secs(60)
    }
}

#[derive(Debug)]
pub(crate) struct Outcome {
    asked: String,
    trials: u64,
    calm: Duration,
    limit: Duration,
    calm_cost: f64,
    /// Of that cost, the budget.
    times: f64,
    /// Of each run.
    pub(super) took: Vec<Duration>,
    pub(super) struck: BTreeMap<Target, u32>,
    pub(super) hung: BTreeMap<Target, u32>,
    /// As planned, at a point of the code.
    pub(super) crashes: u32,
    /// From the kill of the coordinator in charge, or from when it hangs, to the next one in charge.
    pub(super) failovers: Vec<Duration>,
    /// Attempts.
    pub(super) lost: u64,
    /// Of fsync, by the server of all runs with kills, if that is slow.
    pub(super) slow_calls: Option<u64>,
    /// In US dollars, of each run.
    pub(super) spent: Vec<f64>,
    pub(crate) broken: Vec<String>,
    findings: Findings,
}

impl Outcome {
    pub(super) fn new(chaos: &Chaos, calm: &Calm) -> Self {
        let Chaos { seed, kills, trials, pauses, slow_fsync, .. } = chaos;
        let hanging = if *pauses > 0 { format!(" --pauses {pauses}") } else { String::new() };
        let slowly = if *slow_fsync > 0 { format!(" --slow-fsync {slow_fsync}") } else { String::new() };
        Self {
            asked: format!(
                "cargo xtask chaos --store postgres --trials {trials} --kills {kills} --seed {seed}{hanging}{slowly}"
            ),
            trials: *trials,
            calm: calm.took,
            limit: calm.limit(),
            calm_cost: calm.cost,
            times: super::times(chaos),
            took: Vec::new(),
            struck: BTreeMap::new(),
            hung: BTreeMap::new(),
            crashes: 0,
            failovers: Vec::new(),
            lost: 0,
            slow_calls: None,
            spent: Vec::new(),
            broken: Vec::new(),
            findings: Findings::default(),
        }
    }

    /// Takes what a look at invariants found.
    pub(super) fn look(&mut self, findings: Findings) {
        self.broken.extend(findings.broken());
        self.findings.extend(findings);
    }

    pub(super) fn kills(&self) -> u32 {
        self.struck.values().sum()
    }

    #[expect(clippy::print_stdout, reason = "a session takes minutes: what is known is printed")]
    pub(super) fn announce(&self) {
        let (calm, limit) = (self.calm.as_secs_f64(), self.limit.as_secs_f64());
        println!("undisturbed: {} trials in {calm:.1} s, so that a disturbed run may take {limit:.1} s", self.trials);
    }

    fn failover(&self) -> String {
        let mut sorted = self.failovers.clone();
        sorted.sort();
        let seconds = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64);
        match sorted.len() {
            0 => "the coordinator in charge was not killed alone".to_owned(),
            count => format!(
                "{count} times another coordinator was in charge, after {:.1} s (median) and {:.1} s (longest)",
                seconds(sorted.get(count / 2)),
                seconds(sorted.last())
            ),
        }
    }

    pub(super) fn pauses(&self) -> u32 {
        self.hung.values().sum()
    }

    /// Kills, and hangs.
    pub(super) fn strikes_on_workers(&self) -> u32 {
        let all = self.struck.iter().chain(&self.hung);
        all.filter(|(target, _)| matches!(target, Target::Worker(_))).map(|(_, times)| times).sum()
    }

    fn hung(&self) -> String {
        match self.pauses() {
            0 => "none".to_owned(),
            count => format!("{count} ({})", each(&self.hung)),
        }
    }

    fn spent(&self) -> String {
        self.spent.iter().map(|spent| format!("${spent:.4}")).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn summary(&self) -> String {
        let mut text = String::new();
        let took: Vec<String> = self.took.iter().map(|took| format!("{:.1} s", took.as_secs_f64())).collect();
        let _ = writeln!(
            text,
            "{} kills ({}); hung: {}; took {} of {:.1} s",
            self.kills(),
            each(&self.struck),
            self.hung(),
            took.join(", "),
            self.limit.as_secs_f64()
        );
        let _ = writeln!(
            text,
            "{}; {} attempts lost; spent {}, undisturbed ${:.4}",
            self.failover(),
            self.lost,
            self.spent(),
            self.calm_cost
        );
        if let Some(calls) = self.slow_calls {
            let _ = writeln!(text, "{calls} slow calls of fsync");
        }
        for broken in &self.broken {
            let _ = writeln!(text, "  BROKEN {broken}");
        }
        let _ = writeln!(text, "looked at {}", self.findings.looked_at());
        let verdict = if self.broken.is_empty() { "nothing is broken" } else { "RULES ARE BROKEN" };
        let _ = writeln!(text, "{verdict}");
        text
    }

    pub(crate) fn markdown(&self) -> String {
        let today = chrono::Utc::now().format("%Y-%m-%d");
        let took: Vec<String> = self.took.iter().map(|took| format!("{:.1} s", took.as_secs_f64())).collect();
        let mut text = format!(
            "# Two coordinators on PostgreSQL under `kill -9`, {today}\n\n    {}\n\n\
             Two coordinators, five workers, one PostgreSQL and a mock that plays every role and counts what it serves. A random one of the\n\
             eight processes (postmaster included, the mock not) is killed and started again 0.2 to 2 s later; five kills in a row strike both\n\
             coordinators, the postmaster and two workers, in any order.\n\n\
             | | |\n|---|---|\n",
            self.asked
        );
        let rows = [
            ("trials of a run", self.trials.to_string()),
            ("kills", format!("{} ({})", self.kills(), each(&self.struck))),
            ("hung for 1 to 12 s", self.hung()),
            ("undisturbed", format!("{:.1} s", self.calm.as_secs_f64())),
            ("with kills", format!("{} (at most {:.1} s)", took.join(", "), self.limit.as_secs_f64())),
            ("failover", self.failover()),
            ("attempts lost", self.lost.to_string()),
            (
                "cost",
                format!(
                    "{}, undisturbed ${:.4}; budget: {} times the latter",
                    self.spent(),
                    self.calm_cost,
                    self.times
                ),
            ),
            ("slow calls of fsync", self.slow_calls.map_or_else(|| "–".to_owned(), |calls| calls.to_string())),
            ("looked at", self.findings.looked_at()),
            ("rules broken", self.broken.len().to_string()),
        ];
        for (name, value) in rows {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        text.push_str(
            "\nAfter each run: the invariants that are named above (docs/protocol.md says what they are), also by the mock's own record of the calls; no\n\
             process panics or ends by itself, except a coordinator whose database is away while it starts.\n",
        );
        for broken in &self.broken {
            let _ = writeln!(text, "\n- BROKEN: {broken}");
        }
        text
    }
}

fn each(times: &BTreeMap<Target, u32>) -> String {
    times.iter().map(|(target, times)| format!("{target}: {times}")).collect::<Vec<_>>().join(", ")
}
