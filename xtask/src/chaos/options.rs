//! The options of `cargo xtask chaos`.

use std::path::PathBuf;

use super::fault::Fault;

/// Where coordinators keep the runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Store {
    /// One coordinator with a file
    #[default]
    Sqlite,
    /// Two coordinators with a database
    Postgres,
}

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Chaos {
    /// Number of process kills (`kill -9`) after which to stop
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(super) kills: u32,
    /// Seed for the faults: which fault, on which process, when, and for how long
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Faults and cases to play [default: all except kill-storm, crash-loop, slow-disk and slow-link, which take minutes]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_enum)]
    pub(super) faults: Vec<Fault>,
    /// Play with two coordinators on a PostgreSQL of its own, and kill any process, the postmaster too; --faults is for SQLite
    #[arg(long, value_enum, default_value_t, conflicts_with = "faults")]
    pub(super) store: Store,
    /// With --store postgres: the trials of a run, an even number
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) trials: u64,
    /// With --store postgres: so many times a coordinator or a worker hangs (SIGSTOP) for 1 to 12 s, beside the kills
    #[arg(long, default_value_t, value_name = "N")]
    pub(super) pauses: u32,
    /// With --store postgres: every fsync of the server takes so many milliseconds more
    #[arg(long, default_value_t, value_name = "MS")]
    pub(super) slow_fsync: u64,
    /// Crash a process at each named point of the code, three times (a build with the feature `crash-points`)
    #[arg(long, conflicts_with_all = ["faults", "kills", "pauses"])]
    pub(super) points: bool,
    /// The program under test [default: target/debug/gabfest]
    #[arg(long, value_name = "PATH")]
    pub(super) binary: Option<PathBuf>,
    /// Write the result to this file as Markdown
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Keep logs, stores and reports of all runs, even without violations
    #[arg(long)]
    pub(super) keep: bool,
}
