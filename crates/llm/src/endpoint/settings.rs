//! An endpoint as it is written in `gabfest.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{key::KeyRef, limit, mock, openai::SchemaMode, price::Price};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    pub kind: Kind,
    /// Of an OpenAI-compatible server: `https://api.openai.com/v1`. `/chat/completions` is added where it is missing.
    pub url: Option<String>,
    /// As the server names it; absent for servers that have but one.
    pub model: Option<String>,
    /// Sent as `Authorization: Bearer`. Where the key is kept, `env:NAME` or `file:PATH`; never the key.
    pub key: Option<KeyRef>,
    /// Further headers of each call. A value `env:NAME` or `file:PATH` is read from there; headers that carry
    /// keys take no other.
    pub headers: BTreeMap<String, String>,
    /// Whether replies are streamed, which shows the time to the first token.
    pub stream: bool,
    /// For one try of a call, from its first byte to its last.
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    /// How the server is told that a reply must satisfy a schema.
    pub schema_mode: SchemaMode,
    pub limits: limit::Settings,
    /// Absent: the cost of a run is incomplete.
    pub price: Option<Price>,
    /// The longest reply that the model gives, in tokens. It bounds what a call that sets no limit of its own may
    /// cost while it is in flight; absent: 16,384.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    pub retries: Retries,
    /// How a mock behaves.
    pub mock: mock::Behaviour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Any server that speaks OpenAI's chat completions.
    #[default]
    Openai,
    /// The built-in model, which needs no key and no server.
    Mock,
}

/// How often a call that failed is tried, where trying again can help. An agent under test keeps state: it is asked
/// again only when nothing can have reached it, or when it throttled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Retries {
    /// With the first one; 1 never tries again. Being throttled does not count.
    #[schemars(range(min = 1))]
    pub tries: u32,
    /// From the first try, without the time in line for the limits; no other try begins after it.
    pub deadline_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            url: None,
            model: None,
            key: None,
            headers: BTreeMap::new(),
            stream: false,
            timeout_ms: 120_000,
            schema_mode: SchemaMode::default(),
            limits: limit::Settings::default(),
            price: None,
            max_output_tokens: None,
            retries: Retries::default(),
            mock: mock::Behaviour::default(),
        }
    }
}

impl Settings {
    /// Where its keys are kept, that of a header too.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRef> {
        let of_headers = self.headers.values().filter_map(|value| KeyRef::parse(value).ok());
        self.key.iter().cloned().chain(of_headers).collect()
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self { tries: 5, deadline_ms: 600_000 }
    }
}
