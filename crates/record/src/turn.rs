//! One exchange as it happened.

use serde::{Deserialize, Serialize};

use crate::Call;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// From 1, over the whole trial.
    pub number: u32,
    /// The step it belongs to, from 1.
    pub step: u32,
    pub speaker: Speaker,
    /// What the user said, or the program that was run.
    pub user: String,
    /// What the agent answered, or what the program printed; `None` when nothing came.
    pub agent: Option<String>,
    /// The program's exit code.
    pub exit_code: Option<i32>,
    pub tool_calls: Vec<ToolCall>,
    /// Actions that the agent reports besides tool calls.
    pub actions: Vec<String>,
    /// Since the trial began.
    pub started_micros: u64,
    /// From the user's message to the agent's whole reply, without the wait for permits.
    pub duration_micros: u64,
    /// The agent's call, the simulator's that led here, the judges' that followed.
    pub calls: Vec<Call>,
    /// What the scenario's author asked to keep: simulator prompts, termination decisions, what was skipped.
    pub notes: Vec<Note>,
}

/// Where a turn's user message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// Written in the scenario.
    Scripted,
    /// Made by the user simulator.
    Simulated,
    /// Not a message: a program.
    Program,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON text as the agent wrote it.
    pub arguments: String,
    pub result: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// `simulator_prompt`, `simulator_reply`, `termination`, `plugins`, …
    pub kind: String,
    pub text: String,
}

/// The transcript as evaluators and judges read it, one block a turn.
#[must_use]
pub fn transcript<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> String {
    let mut text = String::new();
    for (index, turn) in turns.into_iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let agent = turn.agent.as_deref().unwrap_or("");
        text.push_str(&format!("Turn {}:\nUser: {}\nAgent: {agent}\n", index + 1, turn.user));
    }
    text
}
