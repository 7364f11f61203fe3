//! What a trial finds around it: files beneath a root of its own, seeded databases, and programs that it may run.
//!
//! [`local`] is the environment of this machine, [`root`] keeps its files together in the [`house`] of this process,
//! [`sandbox`] walls its programs in, [`process`] watches over them, [`watch`] over what they take, and [`database`] fills
//! databases.

#[cfg(feature = "databases")]
pub mod database;
pub mod execution;
mod house;
mod local;
mod process;
mod root;
mod sandbox;
mod watch;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use record::Failure;

pub use execution::{Execution, Limits};
pub use local::Local;

/// A place to play a trial in. Evaluators look at it through [`evaluate::Workspace`].
#[async_trait]
pub trait Environment: evaluate::Workspace {
    /// Writes the scenario's files and seeds its databases, whose addresses are given by name.
    async fn set_up(&self, databases: &BTreeMap<String, String>) -> Result<(), Failure>;

    /// Runs a program. That it fails is evidence; an error means that it could not be run, or not to its end.
    async fn run(&self, language: &str, code: &str) -> Result<Ran, Failure>;

    /// What the last program printed, and every file that there is now.
    async fn capture(&self) -> Result<Captured, Failure>;

    /// Removes everything that the trial left behind.
    async fn teardown(&mut self);
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// 128 and the signal's number where a signal ended it, as shells say it.
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// `None` where no program was run.
    pub program: Option<Ran>,
    /// Path beneath the root to text; what is no text, or too much of it, is named in brackets.
    pub files: BTreeMap<String, String>,
}
