//! A message: its speaker and its content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub speaker: Speaker,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    System,
    User,
    Agent,
    Tool,
}

impl Speaker {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Tool => "tool",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    /// The address of an image.
    Image(String),
}

impl Message {
    #[must_use]
    pub fn text_of(speaker: Speaker, text: impl Into<String>) -> Self {
        Self { speaker, parts: vec![Part::Text(text.into())] }
    }

    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Speaker::User, text)
    }

    /// The addresses of its images.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Image(address) => Some(address.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text parts, one below the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Image(_) => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// The text for the agent of the messages between two replies, one below the other; speakers other than the user are
/// named.
#[must_use]
pub fn said(messages: &[Message]) -> String {
    let lines = messages.iter().map(|message| match message.speaker {
        Speaker::User => message.text(),
        other => format!("[{}] {}", other.name(), message.text()),
    });
    lines.collect::<Vec<_>>().join("\n")
}
