//! An expected conversation that stands in a file.

use std::path::{Path, PathBuf};

use super::{Agent, Run, script::Script};

/// A `*.conversation.yaml` or `*.conversation.json`.
#[derive(Debug, Clone)]
pub struct File {
    path: PathBuf,
}

/// The conversation of a file. The path is relative to the folder in which the test runs, which for `cargo test` is the
/// package's.
#[must_use]
pub fn file(path: impl AsRef<Path>) -> File {
    File { path: path.as_ref().to_path_buf() }
}

impl File {
    /// Whom the conversation is held with. What the file says of repeats holds, unless the [`Run`] says more.
    pub fn against(self, agent: impl Into<Agent>) -> Run {
        Run::new(self.path.display().to_string(), Script::of_file(&self.path), agent.into())
    }
}
