//! What the settings of a worker say of its agents besides what is written with each.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use secrecy::SecretString;

use crate::terminal::Terminal;

/// What the settings of the worker say of its agents besides what is written with each.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Relative paths of the settings are relative to it.
    pub folder: PathBuf,
    /// Whether the operator allows agents that are programs of this machine.
    pub may_execute: bool,
    /// Conversations at the same time.
    pub slots: u32,
    /// Where an agent that is a person reads and types.
    pub terminal: Option<Arc<dyn Terminal>>,
    /// Keys that were given on the command line, by the agent's name; they go before those of the settings.
    pub keys: BTreeMap<String, SecretString>,
}
