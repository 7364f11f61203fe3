//! A termination condition of one's own: an HTTP service that is shown the conversation and says whether it is over.
//!
//! It gets `{"run", "scenario", "trial", "turns": [{"user", "agent"}]}` and answers `{"stop": bool, "reason"?: text}`.
//! The operator's settings have its address; a scenario only names it.

use std::{fmt, time::Duration};

use record::Turn;
use reqwest::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::{self, Service};

/// An answer is one word and one sentence.
const MOST_BYTES: usize = 64 * 1024;

/// A hook as `gabfest.yaml` describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The URL that receives the conversation by POST. Redirects are not followed.
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

impl Settings {
    /// What is wrong with the settings: the key and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        http::fault(&self.url, self.timeout_ms)
    }
}

/// A hook that can be asked.
pub struct Hook {
    service: Service,
    timeout: Duration,
}

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub stop: bool,
    pub reason: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Setup(#[from] http::SetupError),
    #[error(transparent)]
    Call(#[from] http::Error),
    #[error("answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("answer: status {0}")]
    Status(StatusCode),
    #[error("answer {{\"stop\": true or false}}: {0}")]
    Malformed(String),
}

impl Hook {
    /// Resolves the key, so that a missing variable is found before the run and not in its first conversation.
    ///
    /// # Errors
    /// When the address is not an HTTP one or the key cannot be read.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let service = Service::new(&settings.url, settings.key.as_ref())?;
        Ok(Self { service, timeout: Duration::from_millis(settings.timeout_ms) })
    }

    pub(super) async fn ask(&self, context: &llm::Context, trial: &str, turns: &[Turn]) -> Result<Answer, Error> {
        let turns: Vec<Value> = turns.iter().map(|turn| json!({ "user": turn.user, "agent": turn.said() })).collect();
        let body = json!({ "run": context.run, "scenario": context.scenario, "trial": trial, "turns": turns });
        let request = self.service.post().header("Idempotency-Key", &context.idempotency_key).json(&body);
        let answered = tokio::time::timeout(self.timeout, http::receive(request, MOST_BYTES)).await;
        let (status, body) = answered.map_err(|_| Error::TimedOut(self.timeout))??;
        if !status.is_success() {
            return Err(Error::Status(status));
        }
        read(&body)
    }
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

/// Shows only the host, because an address may hold a token.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("host", &self.service.host())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
