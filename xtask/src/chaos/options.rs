//! The options of `cargo xtask chaos`.

use std::path::PathBuf;

use super::fault::Fault;

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Chaos {
    /// Number of process kills (`kill -9`) after which to stop
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(super) kills: u32,
    /// Seed for the faults: which fault, on which process, when, and for how long
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Faults and cases to play [default: all except kill-storm, crash-loop and slow-link, which take minutes]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_enum)]
    pub(super) faults: Vec<Fault>,
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
