//! What agents need from a worker's settings apart from their own section.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use secrecy::SecretString;

use crate::terminal::Terminal;

/// What agents need from a worker's settings apart from their own section.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Relative paths of the settings are relative to it.
    pub folder: PathBuf,
    /// Whether the operator allows agents that are programs of this machine.
    pub may_execute: bool,
    /// Conversations at the same time.
    pub slots: u32,
    /// The terminal of an agent that is a person.
    pub terminal: Option<Arc<dyn Terminal>>,
    /// Keys from the command line, by the agent's name; they take precedence over those in the settings.
    pub keys: BTreeMap<String, SecretString>,
    /// Records the calls to agents, or answers them.
    pub tape: llm::cassette::Tape,
}
