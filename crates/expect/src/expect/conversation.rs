//! A conversation as a test writes it down, turn by turn; the lines of the test's source go with it.

use std::{collections::BTreeMap, panic::Location, time::Duration};

use serde_json::{Map, Value, json};
use yaml::Document;

use super::{Agent, Answer, Run, script::Script};

/// What the user says, and what the agent should answer.
#[derive(Debug, Clone)]
pub struct Conversation {
    written: Map<String, Value>,
    turns: Vec<(Value, u32)>,
    at: &'static Location<'static>,
}

/// A conversation without turns; the name is for people.
#[must_use]
#[track_caller]
pub fn conversation(name: impl Into<String>) -> Conversation {
    let written = Map::from_iter([("name".to_owned(), Value::String(name.into()))]);
    Conversation { written, turns: Vec::new(), at: Location::caller() }
}

impl Conversation {
    /// The user says this, word for word.
    #[must_use]
    #[track_caller]
    pub fn user(self, text: impl Into<String>) -> Self {
        let text: String = text.into();
        self.turn(json!({ "role": "user", "text": text }), Location::caller())
    }

    /// The agent should answer this: a text, a list of alternatives, or a [`reply`](super::reply) with calls of tools.
    ///
    /// Where the agent's turn is the first, it is a greeting: it is not asked for, and stands in the history.
    #[must_use]
    #[track_caller]
    pub fn agent(self, answer: impl Into<Answer>) -> Self {
        self.turn(answer.into().into_value(), Location::caller())
    }

    /// Stands with every finding: what the test is for.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.with("test_note", Value::String(text.into()))
    }

    /// How long the agent may take for one answer; 90 seconds unless written.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with("timeout_per_turn_ms", u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).into())
    }

    /// The turns after one that fails are played too; else the first failure ends the conversation.
    #[must_use]
    pub fn keep_going(self) -> Self {
        self.with("on_failure", "continue".into())
    }

    /// The agent remembers the expected answer instead of its own, where an answer is written in words.
    #[must_use]
    pub fn remember_expected(self) -> Self {
        self.with("history", "expected".into())
    }

    /// A negative control: it passes where an expectation is not met.
    #[must_use]
    pub fn must_fail(self) -> Self {
        self.with("expect_failure", true.into())
    }

    /// Whom the conversation is held with.
    pub fn against(self, agent: impl Into<Agent>) -> Run {
        let place = format!("{}:{}", self.at.file(), self.at.line());
        Run::new(place, Script::read(&self.into_document()), agent.into())
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.written.insert(key.to_owned(), value);
        self
    }

    fn turn(mut self, turn: Value, at: &Location<'_>) -> Self {
        self.turns.push((turn, at.line()));
        self
    }

    fn into_document(mut self) -> Document {
        let mut lines = BTreeMap::new();
        for (number, (_, line)) in self.turns.iter().enumerate() {
            lines.insert(format!("conversation[{number}]"), *line);
            // A plan keeps the lines of mappings, which are known by having keys.
            lines.insert(format!("conversation[{number}].role"), *line);
        }
        let turns: Vec<Value> = self.turns.into_iter().map(|(turn, _)| turn).collect();
        self.written.insert("conversation".to_owned(), turns.into());
        Document::of_text(self.at.file(), Value::Object(self.written), &lines)
    }
}
