//! The subject of a judgment: what was said and done, and the environment of the trial.

use std::fmt;

use async_trait::async_trait;
use record::{FailureKind, Scope, Turn};
use scenario::check::Judging;
use serde_json::Value;

/// What an evaluator sees.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub scope: Scope,
    /// The agent's last reply, or the output of a program.
    pub reply: &'a str,
    /// All messages of the agent in the turn, the reply included.
    pub said: &'a str,
    /// The turns that the scope covers, oldest first: one for a single exchange, all for a conversation.
    pub turns: &'a [Turn],
    /// Whether the step was a conversation with a simulated user.
    pub conversation: bool,
    /// How long the step or turn took, without rate-limit waits; `None`: not timed.
    pub duration_ms: Option<u64>,
    /// How judges are asked. An evaluator puts its check's own here.
    pub judging: &'a Judging,
    pub workspace: &'a dyn Workspace,
}

impl Subject<'_> {
    /// The number of words that the agent said.
    pub(crate) fn words(&self) -> u32 {
        let count = |text: &str| text.split_whitespace().count();
        let words = match self.turns {
            [] => count(self.said),
            turns => turns.iter().filter_map(Turn::said).map(|said| count(&said)).sum(),
        };
        u32::try_from(words).unwrap_or(u32::MAX)
    }
}

/// The environment of the trial, as far as evaluators may use it.
#[async_trait]
pub trait Workspace: Send + Sync + fmt::Debug {
    /// The text of a file beneath the trial's root; `Ok(None)`: there is no such file. Paths that leave the root are errors.
    async fn file(&self, path: &str) -> Result<Option<String>, String>;

    /// Runs a command in the trial's root and returns its exit code and output. Refused unless the operator allows it.
    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError>;

    /// Asks a check of the user's own about the transcript of the trial.
    async fn custom(&self, asked: &CustomAsked<'_>) -> Result<CustomAnswered, CustomError>;

    /// What a service says at a path, read with GET; `None`: it says that there is nothing.
    async fn http_state(&self, host: &str, path: &str) -> Result<Option<Value>, StateError>;

    /// The rows of one statement that only reads.
    async fn sql_state(&self, database: &str, query: &str, parameters: &[Value])
    -> Result<Vec<Vec<Value>>, StateError>;

    /// Whether a table is not as it was when the trial began.
    async fn has_changed(&self, database: &str, table: &str) -> Result<bool, StateError>;

    /// The state of the scenario's mocks as it is now, or why there is none.
    fn mock_state(&self) -> Result<Value, String>;
}

/// Which check of the user's own is asked, and what it gets besides the transcript.
#[derive(Debug, Clone, Copy)]
pub struct CustomAsked<'a> {
    /// Its name in the settings.
    pub check: &'a str,
    pub config: &'a Value,
    /// Whether it sees how long each turn took.
    pub times: bool,
    pub scope: Scope,
}

/// What a check answered, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomAnswered {
    pub text: String,
    /// The answer to the same transcript a second time. A part of the calls of a check that says it is deterministic is made
    /// twice.
    pub again: Option<String>,
}

/// Why a state cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StateError {
    #[error("the worker's settings do not name it")]
    Unknown,
    #[error("{0}")]
    Failed(String),
}

impl StateError {
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Unknown => FailureKind::Misconfigured,
            Self::Failed(_) => FailureKind::EnvironmentFailed,
        }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CustomError {
    #[error("it is a program, and the operator of the worker has not allowed programs (--allow-exec)")]
    NotAllowed,
    #[error("the worker's settings name no such check")]
    Unknown,
    #[error("{0}")]
    Malformed(String),
    #[error("{0}")]
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error("running commands is not allowed here")]
    NotAllowed,
    #[error("{0}")]
    Failed(String),
}
