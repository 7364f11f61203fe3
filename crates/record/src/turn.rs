//! One exchange as it happened.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Call;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// From 1, over the whole trial.
    pub number: u32,
    /// The step it belongs to, from 1.
    pub step: u32,
    pub speaker: Origin,
    /// What the user said, or the program that was run.
    pub user: String,
    /// What the agent answered, or what the program printed; `None` when nothing came. Where the agent called tools
    /// in between, these are the words after the last call.
    pub agent: Option<String>,
    /// Every message of the agent in this turn, in order, where `agent` alone does not tell: several messages, or words
    /// before a tool call. Else empty.
    #[serde(default)]
    pub messages: Vec<Said>,
    /// The program's exit code.
    pub exit_code: Option<i32>,
    pub tool_calls: Vec<ToolCall>,
    /// Actions that the agent reports besides tool calls.
    pub actions: Vec<String>,
    /// Since the trial began.
    pub started_micros: u64,
    /// From the user's message to the agent's whole reply, without rate-limit waits.
    pub duration_micros: u64,
    /// The agent's call, the simulator's that led here, the judges' that followed.
    pub calls: Vec<Call>,
    /// What the scenario's author asked to keep: simulator prompts, termination decisions, what was skipped.
    pub notes: Vec<Note>,
}

/// Where a turn's user message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Written in the scenario.
    Scripted,
    /// Made by the user simulator.
    Simulated,
    /// Not a message: a program.
    Program,
}

/// One message of the agent within a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    /// How many of the turn's tool calls were made before it.
    pub tool_calls_before: u32,
}

/// What an agent does in a turn, one thing after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Said(&'a str),
    Called(&'a ToolCall),
}

impl Turn {
    /// A turn in which nothing was answered yet.
    #[must_use]
    pub fn new(number: u32, step: u32, speaker: Origin, user: String, started_micros: u64) -> Self {
        Self {
            number,
            step,
            speaker,
            user,
            agent: None,
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros,
            duration_micros: 0,
            calls: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// All that the agent said in this turn, each message on lines of its own; `None` when nothing came.
    #[must_use]
    pub fn said(&self) -> Option<Cow<'_, str>> {
        match self.messages.as_slice() {
            [] => self.agent.as_deref().map(Cow::Borrowed),
            [one] => Some(Cow::Borrowed(&one.text)),
            several => Some(several.iter().map(|said| said.text.as_str()).collect::<Vec<_>>().join("\n").into()),
        }
    }

    /// The agent's messages and tool calls in the order in which they came. Empty messages are left out.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::with_capacity(self.tool_calls.len() + self.messages.len() + 1);
        let mut calls = self.tool_calls.iter();
        for said in &self.messages {
            let made = self.tool_calls.len() - calls.len();
            let before = usize::try_from(said.tool_calls_before).unwrap_or(usize::MAX).saturating_sub(made);
            parts.extend(calls.by_ref().take(before).map(Part::Called));
            parts.push(Part::Said(&said.text));
        }
        parts.extend(calls.map(Part::Called));
        if self.messages.is_empty() {
            parts.extend(self.agent.as_deref().map(Part::Said));
        }
        parts.retain(|part| !matches!(part, Part::Said("")));
        parts
    }
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
        let agent = turn.said().unwrap_or_default();
        text.push_str(&format!("Turn {}:\nUser: {}\nAgent: {agent}\n", index + 1, turn.user));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(agent: Option<&str>, messages: &[(&str, u32)], tools: &[&str]) -> Turn {
        let call = |name: &&str| ToolCall {
            id: String::new(),
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
            result: None,
        };
        let said = |(text, before): &(&str, u32)| Said { text: (*text).to_owned(), tool_calls_before: *before };
        Turn {
            number: 1,
            step: 1,
            speaker: Origin::Scripted,
            user: "Where is my order?".to_owned(),
            agent: agent.map(str::to_owned),
            messages: messages.iter().map(said).collect(),
            exit_code: None,
            tool_calls: tools.iter().map(call).collect(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            calls: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn messages_and_tool_calls_stand_in_their_order() {
        type Row<'a> = (Option<&'a str>, &'a [(&'a str, u32)], &'a [&'a str], &'a str, Option<&'a str>);
        let rows: [Row<'_>; 8] = [
            (None, &[], &[], "", None),
            (Some("Hi"), &[], &[], "Hi", Some("Hi")),
            (Some("Hi"), &[], &["a", "b"], "a() b() Hi", Some("Hi")),
            (Some(""), &[], &["a"], "a()", Some("")),
            (Some("Done."), &[("Wait.", 0), ("Done.", 1)], &["a"], "Wait. a() Done.", Some("Wait.\nDone.")),
            (
                Some("Done."),
                &[("Wait.", 1), ("Done.", 2)],
                &["a", "b", "c"],
                "a() Wait. b() Done. c()",
                Some("Wait.\nDone."),
            ),
            // Words before a call that nothing followed, and a turn that failed after them.
            (Some("Wait."), &[("Wait.", 0)], &["a"], "Wait. a()", Some("Wait.")),
            (None, &[("Wait.", 0)], &["a"], "Wait. a()", Some("Wait.")),
        ];
        for (agent, messages, tools, expected, said) in rows {
            let turn = turn(agent, messages, tools);
            let shown: Vec<String> = turn
                .parts()
                .into_iter()
                .map(|part| match part {
                    Part::Said(text) => text.to_owned(),
                    Part::Called(call) => format!("{}()", call.name),
                })
                .collect();
            assert_eq!(shown.join(" "), expected);
            assert_eq!(turn.said().as_deref(), said);
        }
        // More than there are: after all of them.
        let turn = turn(Some("b"), &[("a", u32::MAX), ("b", u32::MAX)], &["x"]);
        assert!(matches!(turn.parts()[..], [Part::Called(_), Part::Said("a"), Part::Said("b")]));
    }

    #[test]
    fn a_transcript_holds_every_message() {
        let turns = [turn(Some("Done."), &[("Wait.", 0), ("Done.", 1)], &["a"])];
        assert_eq!(transcript(&turns), "Turn 1:\nUser: Where is my order?\nAgent: Wait.\nDone.\n");
    }

    /// A line of `transcripts.jsonl` as it was written before turns had messages.
    #[test]
    fn a_turn_of_the_last_version_is_read() {
        let old = r#"{"number":1,"step":1,"speaker":"scripted","user":"Hi","agent":"Hello","exit_code":null,
            "tool_calls":[{"id":"1","name":"a","arguments":"{}","result":"x"}],"actions":["REPLY"],"started_micros":1,
            "duration_micros":2,"calls":[],"notes":[{"kind":"k","text":"t"}]}"#;
        let turn: Turn = serde_json::from_str(old).unwrap();
        assert_eq!((turn.agent.as_deref(), turn.messages.len(), turn.parts().len()), (Some("Hello"), 0, 2));
    }
}
