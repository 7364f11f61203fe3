//! The options of `cargo xtask chaos`.

use std::path::PathBuf;

use super::fault::Fault;

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Chaos {
    /// Play runs until processes were killed (`kill -9`) so many times
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(super) kills: u32,
    /// What is drawn from it: which fault strikes whom, when, and for how long
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Faults and cases to play [default: all but kill-storm, crash-loop and slow-link, which take minutes]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_enum)]
    pub(super) faults: Vec<Fault>,
    /// The program under test [default: target/debug/gabfest]
    #[arg(long, value_name = "PATH")]
    pub(super) binary: Option<PathBuf>,
    /// Write the result to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Keep logs, stores and reports of all runs, although no rule was broken
    #[arg(long)]
    pub(super) keep: bool,
}
