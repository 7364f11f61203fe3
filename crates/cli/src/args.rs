//! Flags that several subcommands share. A subcommand's own flags stand in its file, in `command/`.

use std::{net::SocketAddr, ops::RangeInclusive, path::PathBuf};

/// Trials that one machine may play at the same time.
pub(crate) const SLOTS: RangeInclusive<u32> = 1..=100_000;

/// What is played: shared by `run` and `submit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Scenario and matrix files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Play each case N times [default: what the files say, else 1]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// Play each conversation once with each of these personas (names from the library, or `all`)
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) personas: Vec<String>,
    /// Set a parameter in every scenario that has it, such as `run[0].conversation.max_turns=4`
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Judge batteries as this revision of Emely-testing does, bugs included; same as `--set compat=REVISION`
    #[arg(long, value_name = "REVISION", value_parser = ["emely-9043c93"])]
    pub(crate) compat: Option<String>,
    /// The agent under test: a name from the settings file, or the URL of an OpenAI-compatible server, a key in its query as
    /// `?api_key=env:NAME`; repeat for several
    #[arg(short, long = "agent", value_name = "NAME|URL")]
    pub(crate) agents: Vec<String>,
    /// Play only cases whose scenario, combination, parameters or persona contain this text
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Play only scenarios with one of these tags
    #[arg(short, long = "tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Play no scenario with one of these tags
    #[arg(long = "exclude-tag", value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) exclude_tags: Vec<String>,
    /// Play only cases that have this value; NAME is an axis, a column of the data set, `row`, `persona`, `agent` or
    /// `scenario`. Repeat for other values of the name, or for other names, which must all fit
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub(crate) conditions: Vec<String>,
    /// Leave out cases that have all of these values; repeat to leave out more
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub(crate) exclude: Vec<String>,
    /// Seed of everything random; with the mock model, the same plan and seed give the same verdicts
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// The run's name in reports [default: the path that is played]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Ignore `setup.mocks`: agents call the real services
    #[arg(short, long)]
    pub(crate) live: bool,
    /// Treat warnings about files as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not ask agents and models once before a run of 20 trials or more (`run` alone asks them), and play on where an
    /// agent never answers
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Print what would be played, with an estimate of calls, tokens, time and cost; play nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse plans with more trials than this
    #[arg(long, default_value_t = scenario::plan::MAX_TRIALS, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=scenario::plan::MAX_TRIALS))]
    pub(crate) max_trials: u64,
}

/// Where settings come from: shared by everything that reads them.
#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    /// The settings file [default: gabfest.yaml, if it exists]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Read environment variables from this file before anything else
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
}

/// What this machine may do for a scenario: shared by `run` and `worker`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Capacity {
    /// Trials played at the same time [default: `slots` in the settings file, else 32]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(*SLOTS.start())..=i64::from(*SLOTS.end())))]
    pub(crate) slots: Option<u32>,
    /// Allow scenarios to run programs; agents that are programs need `host`
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox")]
    pub(crate) allow_exec: Option<AllowExec>,
    /// Serve mocked tools at this address, for agents that call their tools themselves [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub(crate) tools_listen: Option<SocketAddr>,
    /// The URL of that address, for agents on other machines
    #[arg(long, value_name = "URL")]
    pub(crate) tools_url: Option<String>,
}

/// Who may look on: shared by the roles that play or hand out trials.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Serve Prometheus metrics at http://ADDR/metrics, and /healthz; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDR", env = "GABFEST_METRICS_LISTEN")]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Allow addresses that other machines can reach, although nothing is encrypted or authenticated
    #[arg(long)]
    pub(crate) insecure_i_know: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AllowExec {
    /// In a sandbox (bubblewrap), without this machine's network and files
    Sandbox,
    /// Directly on this machine, with the rights of the user who started gabfest
    Host,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Write the run's files to this folder [default: gabfest-runs/RUN]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
