//! A trial's environment: files below its own root, seeded databases, and programs that it may run.
//!
//! [`local`] is the environment on this machine. [`root`] keeps a trial's files, in the [`process_directory`].
//! [`sandbox`] isolates programs, [`process`] runs them, [`watch`] measures their memory and disk, within [`limits`].
//! [`database`] seeds databases.

#[cfg(feature = "databases")]
pub mod database;
mod execution;
mod limits;
mod local;
mod process;
mod process_directory;
mod root;
mod sandbox;
mod watch;

pub(crate) use sandbox::staying;

use std::collections::BTreeMap;

use async_trait::async_trait;
use evaluate::subject::{CommandError, CommandOutput};
use record::Failure;

pub use execution::Execution;
pub use limits::Limits;
pub use local::Local;
pub use process::Ran;
#[cfg(any(test, fuzzing))]
pub use root::fuzzing;

/// A place to play a trial in. Checks look at it through the trial's [`evaluate::Workspace`].
#[async_trait]
pub trait Environment: Send + Sync {
    /// Writes the scenario's files and seeds its databases. `databases`: addresses by name.
    async fn set_up(&self, databases: &BTreeMap<String, String>) -> Result<(), Failure>;

    /// Runs a program. A program that fails is evidence; an error means that it did not start, or did not finish.
    async fn run(&self, language: &str, code: &str) -> Result<Ran, Failure>;

    /// The text of a file beneath the trial's root; `Ok(None)`: there is no such file. Paths that leave the root are errors.
    async fn file(&self, path: &str) -> Result<Option<String>, String>;

    /// Runs a command in the trial's root and returns its exit code and output.
    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError>;

    /// The output of the last program, and all files as they are now.
    async fn capture(&self) -> Result<Captured, Failure>;

    /// Removes everything that the trial created.
    async fn teardown(&mut self);
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// `None` if no program has run.
    pub program: Option<Ran>,
    /// Path below the root to text. A file that is not text, or too long, is replaced with a note in brackets.
    pub files: BTreeMap<String, String>,
}
