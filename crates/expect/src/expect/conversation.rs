//! A conversation in a test, turn by turn, with the source lines of its turns.

use std::{collections::BTreeMap, panic::Location, time::Duration};

use serde_json::{Map, Value, json};
use yaml::Document;

use super::{Agent, Answer, Run, script::Prepared};

/// The turns of the user and the expected answers of the agent.
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
    /// Adds a message of the user.
    #[must_use]
    #[track_caller]
    pub fn user(self, text: impl Into<String>) -> Self {
        let text: String = text.into();
        self.turn(json!({ "role": "user", "text": text }), Location::caller())
    }

    /// Adds an expected answer: a text, a list of alternatives, or a [`reply`](super::reply) with tool calls.
    ///
    /// If it is the first turn, it is a greeting: it goes into the history without asking the agent.
    #[must_use]
    #[track_caller]
    pub fn agent(self, answer: impl Into<Answer>) -> Self {
        self.turn(answer.into().into_value(), Location::caller())
    }

    /// A note that every finding shows.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.with("test_note", Value::String(text.into()))
    }

    /// The time limit for one answer. The default is 90 seconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with("timeout_per_turn_ms", u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).into())
    }

    /// Continues after a failed turn. By default the first failure ends the conversation.
    #[must_use]
    pub fn keep_going(self) -> Self {
        self.with("on_failure", "continue".into())
    }

    /// Puts the expected answer into the history instead of the actual one, if the expected answer is a text.
    #[must_use]
    pub fn remember_expected(self) -> Self {
        self.with("history", "expected".into())
    }

    /// Makes this a negative control, which passes if an expectation fails.
    #[must_use]
    pub fn must_fail(self) -> Self {
        self.with("expect_failure", true.into())
    }

    /// Selects the agent.
    pub fn against(self, agent: impl Into<Agent>) -> Run {
        let place = format!("{}:{}", self.at.file(), self.at.line());
        Run::new(place, Prepared::read(&self.into_document()), agent.into())
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
            // A plan keeps the lines of mappings only.
            lines.insert(format!("conversation[{number}].role"), *line);
        }
        let turns: Vec<Value> = self.turns.into_iter().map(|(turn, _)| turn).collect();
        self.written.insert("conversation".to_owned(), turns.into());
        Document::of_text(self.at.file(), Value::Object(self.written), &lines)
    }
}
