//! An expected conversation in a file.

use std::path::{Path, PathBuf};

use super::{Agent, Run, script::Prepared};

/// A `*.conversation.yaml` or `*.conversation.json`.
#[derive(Debug, Clone)]
pub struct File {
    path: PathBuf,
}

/// Reads a conversation from a file. The path is relative to the working directory of the test; with `cargo test` that is
/// the folder of the package.
#[must_use]
pub fn file(path: impl AsRef<Path>) -> File {
    File { path: path.as_ref().to_path_buf() }
}

impl File {
    /// Selects the agent. The file's `repeats` and `required_pass_rate` apply unless the [`Run`] overrides them.
    pub fn against(self, agent: impl Into<Agent>) -> Run {
        Run::new(self.path.display().to_string(), Prepared::of_file(&self.path), agent.into())
    }
}
