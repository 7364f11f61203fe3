//! A termination condition of one's own: an HTTP service that is shown the conversation and says whether it is over.
//!
//! It gets `{"run", "scenario", "trial", "turns": [{"user", "agent"}]}` and answers `{"stop": bool, "reason"?: text}`.
//! The operator's settings have its address; a scenario only names it.

use std::{fmt, time::Duration};

use record::Turn;
use reqwest::{Client, StatusCode, header, redirect};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An answer is a word and a sentence.
const MOST_BYTES: usize = 64 * 1024;

/// A hook as `gabfest.yaml` describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Where the conversation is posted to. Redirects are not followed.
    pub url: String,
    /// For the whole call, from the connection to the last byte.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Sent as a bearer token.
    #[serde(default)]
    pub key: Option<llm::key::KeyRef>,
}

fn default_timeout_ms() -> u64 {
    5_000
}

/// A hook that can be asked.
pub struct Hook {
    client: Client,
    url: String,
    key: Option<SecretString>,
    timeout: Duration,
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub stop: bool,
    pub reason: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Does not show the address, which may hold a token.
    #[error("read its address: {0}")]
    Address(String),
    #[error("resolve its key: {0}")]
    Key(#[source] llm::key::Error),
    #[error("prepare: {0}")]
    Client(#[source] reqwest::Error),
    #[error("answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("be reached: {0}")]
    Unreachable(#[source] reqwest::Error),
    #[error("answer: status {0}")]
    Status(StatusCode),
    #[error("answer in less than {MOST_BYTES} bytes")]
    TooLarge,
    #[error("answer {{\"stop\": true or false}}: {0}")]
    Malformed(String),
}

impl Hook {
    /// Resolves the key, so that a missing variable is found before the run and not in its first conversation.
    ///
    /// # Errors
    /// When the address is not an HTTP one or the key cannot be read.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let url = reqwest::Url::parse(&settings.url).map_err(|error| Error::Address(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::Address(format!("it is {}, and only http and https are spoken", url.scheme())));
        }
        let key = settings.key.as_ref().map(llm::key::KeyRef::resolve).transpose().map_err(Error::Key)?;
        if let Some(key) = &key {
            redact::register(key.expose_secret());
        }
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("gabfest/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::Client(error.without_url()))?;
        Ok(Self { client, url: url.into(), key, timeout: Duration::from_millis(settings.timeout_ms) })
    }

    pub(super) async fn ask(&self, context: &llm::Context, trial: &str, turns: &[Turn]) -> Result<Answer, Error> {
        let turns: Vec<Value> = turns.iter().map(|turn| json!({ "user": turn.user, "agent": turn.said() })).collect();
        let body = json!({ "run": context.run, "scenario": context.scenario, "trial": trial, "turns": turns });
        let mut request = self.client.post(&self.url).header("Idempotency-Key", &context.idempotency_key).json(&body);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", key.expose_secret()));
        }
        tokio::time::timeout(self.timeout, receive(request)).await.map_err(|_| Error::TimedOut(self.timeout))?
    }
}

async fn receive(request: reqwest::RequestBuilder) -> Result<Answer, Error> {
    let unreachable = |error: reqwest::Error| Error::Unreachable(error.without_url());
    let mut response = request.send().await.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(Error::Status(response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > MOST_BYTES {
            return Err(Error::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    read(&body)
}

fn read(body: &[u8]) -> Result<Answer, Error> {
    let value: Value = serde_json::from_slice(body).map_err(|error| Error::Malformed(error.to_string()))?;
    let stop = match value.get("stop") {
        Some(Value::Bool(stop)) => *stop,
        Some(other) => return Err(Error::Malformed(format!("`stop` is {other}"))),
        None => return Err(Error::Malformed("`stop` is missing".to_owned())),
    };
    let reason = match value.get("reason") {
        None | Some(Value::Null) => None,
        Some(Value::String(reason)) => Some(reason.clone()),
        Some(other) => return Err(Error::Malformed(format!("`reason` is {other}"))),
    };
    Ok(Answer { stop, reason })
}

/// An address may hold a token, so only its host is shown.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str);
        f.debug_struct("Hook").field("host", &host).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
