//! The subject of a judgment: the messages and actions, and the environment of the trial.

use std::fmt;

use async_trait::async_trait;
use record::{FailureKind, Scope, Turn};
use scenario::{Message, Step, check::Judging};
use serde::{Deserialize, Serialize};
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
    /// Those of the scenario: what a turn showed beside its words stands there.
    pub steps: &'a [Step],
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

/// The environment of the trial, for evaluators.
#[async_trait]
pub trait Workspace: Send + Sync + fmt::Debug {
    /// The text of a file below the trial's root; `Ok(None)`: there is no such file. Paths that leave the root are
    /// errors.
    async fn file(&self, path: &str) -> Result<Option<String>, String>;

    /// Runs a command in the trial's root and returns its exit code and output. Refused unless the operator allows it.
    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError>;

    /// Asks a check of the user's own about the transcript of the trial.
    async fn custom(&self, asked: &CustomAsked<'_>) -> Result<CustomAnswered, CustomError>;

    /// A service's state at a path, read with GET; `None` if there is nothing.
    async fn http_state(&self, host: &str, path: &str) -> Result<Option<Value>, StateError>;

    /// The rows of one statement that only reads.
    async fn sql_state(&self, database: &str, query: &str, parameters: &[Value])
    -> Result<Vec<Vec<Value>>, StateError>;

    /// Whether a table has changed since the trial began.
    async fn has_changed(&self, database: &str, table: &str) -> Result<bool, StateError>;

    /// The current state of the scenario's mocks, or why there is none.
    fn mock_state(&self) -> Result<Value, String>;

    /// What belongs to the conversation of this scope and was not said in it.
    fn surroundings(&self, scope: Scope) -> Surroundings<'_>;

    /// What checks have read of the environment so far, the latest of each, and the state of the mocks.
    fn end_states(&self) -> Vec<EndState>;
}

/// What belongs to a conversation and was not said in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings<'a> {
    /// The agent's system prompt; `None`: gabfest does not know it.
    pub system: Option<String>,
    /// What the simulated user wants; empty: there is none.
    pub goal: Vec<String>,
    /// The messages before the first turn.
    pub opening: &'a [Message],
}

/// A state that was read after something was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndState {
    /// `mocks`, `http HOST PATH`, `sql DATABASE QUERY` or `table DATABASE NAME`.
    pub of: String,
    pub state: Value,
}

/// The custom check to run, and its input in addition to the transcript.
#[derive(Debug, Clone, Copy)]
pub struct CustomAsked<'a> {
    /// Its name in the settings.
    pub check: &'a str,
    pub config: &'a Value,
    /// Whether it sees how long each turn took.
    pub times: bool,
    pub scope: Scope,
}

/// The answer of a check, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomAnswered {
    pub text: String,
    /// The answer to the same transcript a second time. A part of the calls of a check that says it is deterministic is made
    /// twice.
    pub again: Option<String>,
    /// Names what answered: see [`record::CustomRun::program`].
    pub program: String,
    /// Names what it was asked: see [`record::CustomRun::transcript`].
    pub transcript: String,
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
