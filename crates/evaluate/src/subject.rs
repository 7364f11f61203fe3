//! What is judged, and the room that it happened in.

use std::fmt;

use async_trait::async_trait;
use record::{Scope, Turn};

/// The evidence before an evaluator.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub scope: Scope,
    /// The agent's last reply, or what a program printed.
    pub reply: &'a str,
    /// All that the agent said in the turn, the reply included; the reply where it said nothing else.
    pub said: &'a str,
    /// The turns that the scope covers, oldest first: one for a single exchange, all for a conversation.
    pub turns: &'a [Turn],
    /// Whether the step was a conversation with a simulated user.
    pub conversation: bool,
    /// How long the step or turn took, without rate-limit waits; `None` where nothing was timed.
    pub duration_ms: Option<u64>,
    pub workspace: &'a dyn Workspace,
}

/// The trial's environment as evaluators may use it.
#[async_trait]
pub trait Workspace: Send + Sync + fmt::Debug {
    /// The text of a file beneath the trial's root; `Ok(None)` where there is none. Paths that leave the root are errors.
    async fn file(&self, path: &str) -> Result<Option<String>, String>;

    /// Runs a command in the trial's root and returns its exit code and what it printed. Refused unless the operator allows it.
    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError>;
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
