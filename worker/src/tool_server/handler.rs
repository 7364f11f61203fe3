//! Handles the tool calls of one trial: answers them by its mocks and records them in its journal.

use std::sync::Arc;

use agent::Tools;
use record::turn::ToolCall;
use scenario::mock::{Answer, Tool};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::journal::Journal;

#[derive(Debug)]
pub(super) struct Handler {
    tools: Arc<Tools>,
    pub(super) journal: Journal,
    /// Cancelled when the trial ends, which also ends delayed calls.
    pub(super) over: CancellationToken,
    reading: Semaphore,
}

/// How many calls of one trial have their arguments read at the same time; others wait.
pub(super) const MOST_READ: usize = 4;

/// The result of a call.
#[derive(Debug)]
pub(super) enum Outcome {
    Answered(Answer),
    /// No mock answers it.
    Unknown,
    /// More calls came in one turn than the journal takes.
    TooMany,
    /// The trial has ended.
    Over,
}

impl Handler {
    pub(super) fn new(tools: Arc<Tools>) -> Self {
        Self { tools, journal: Journal::default(), over: CancellationToken::new(), reading: Semaphore::new(MOST_READ) }
    }

    pub(super) fn offered(&self) -> Vec<Tool> {
        self.tools.offered()
    }

    /// Records a call and answers it after the mock's delay. `written`: the arguments as the caller wrote them. `id` is
    /// empty if the caller sends none.
    ///
    /// Drops the arguments before the delay, since many calls may be delayed at once.
    pub(super) async fn call(&self, id: &str, tool: &str, arguments: Value, written: String) -> Outcome {
        if self.over.is_cancelled() {
            return Outcome::Over;
        }
        let call = ToolCall { id: id.to_owned(), name: tool.to_owned(), arguments: written, result: None };
        let Some(entry) = self.journal.begin(call) else { return Outcome::TooMany };
        let answer = self.tools.answer(tool, &arguments);
        drop(arguments);
        let Some(answer) = answer else { return Outcome::Unknown };
        tokio::select! {
            biased;
            () = self.over.cancelled() => Outcome::Over,
            () = tokio::time::sleep(answer.delay) => {
                entry.answered(&answer.text());
                Outcome::Answered(answer)
            }
        }
    }

    /// Waits until the arguments of another call may be read.
    pub(super) async fn reads(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.reading.acquire().await.ok()
    }

    /// The error of a call that no mock answers.
    pub(super) fn no_such_tool(&self, tool: &str) -> String {
        const SHOWN: usize = 32;
        let offered = self.offered();
        let mut names: Vec<&str> = offered.iter().take(SHOWN).map(|tool| tool.name.as_str()).collect();
        if offered.len() > SHOWN {
            names.push("…");
        }
        if offered.iter().any(|known| self.tools.is_same(&known.name, tool)) {
            return format!("no mock of {tool} answers these arguments; there are {}", names.join(", "));
        }
        let shown: String = tool.chars().take(100).collect();
        format!("there is no tool {shown:?}; there are {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_arguments_of_a_few_calls_are_read_at_once() {
        let handler = Handler::new(Arc::new(Tools::new(Vec::new(), 0, serde_json::Map::new(), || 0)));
        let mut reading = Vec::new();
        for _ in 0..MOST_READ {
            reading.push(handler.reads().await.unwrap());
        }
        let mut next = std::pin::pin!(handler.reads());
        assert!(futures_util::poll!(&mut next).is_pending());
        reading.pop();
        assert!(next.await.is_some());
    }
}
