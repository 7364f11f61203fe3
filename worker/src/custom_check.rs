//! Custom checks: an HTTP service, or a long-lived program that answers line by line. The operator's settings say where
//! they are; a scenario only names them. docs/custom-checks.md has the protocol.

mod answer;
mod digest;
mod process;
mod program;
mod service;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evaluate::subject::CustomError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::answer::Answered;
use self::{answer::Error, program::Program, service::HttpCheck};
use crate::{environment::Execution, http};

const MOST_PROCESSES: u32 = 64;

/// A check as `gabfest.yaml` describes it: an address or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The URL that receives the transcript by POST. Redirects are not followed.
    pub url: Option<String>,
    /// Sent as a bearer token. Goes with `url`.
    pub key: Option<llm::key::KeyRef>,
    /// The program and its arguments, without a shell. It needs `--allow-exec`.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// The program's working folder, relative to the settings file. The program can read it. Goes with `command`.
    pub folder: Option<PathBuf>,
    /// How many copies of the program each worker runs at once (1). Goes with `command`.
    #[schemars(range(min = 1, max = 64))]
    pub processes: Option<u32>,
    /// The time limit of one answer, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    /// Whether the check always gives the same answer to the same transcript. gabfest then asks it twice in 1 % of the
    /// trials. If the answers differ, the check is unstable, and the finding is inconclusive.
    #[serde(default)]
    pub deterministic: bool,
}

fn default_timeout_ms() -> u64 {
    30_000
}

impl Settings {
    /// What is wrong with the settings: the key and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let goes_with = |key: &str| format!("goes with `{key}`, which is not written");
        match (&self.url, &self.command) {
            (None, None) => return Some(("url", "is missing: a check has a `url` or a `command`".to_owned())),
            (Some(_), Some(_)) => {
                return Some(("command", "cannot be used with `url`: a check has one of them".to_owned()));
            }
            (None, Some(command)) if command.first().is_none_or(|program| program.trim().is_empty()) => {
                return Some(("command", "is empty".to_owned()));
            }
            (None, Some(_)) if self.key.is_some() => return Some(("key", goes_with("url"))),
            (Some(_), None) if self.folder.is_some() => return Some(("folder", goes_with("command"))),
            (Some(_), None) if self.processes.is_some() => return Some(("processes", goes_with("command"))),
            _ => {}
        }
        if self.processes.is_some_and(|count| !(1..=MOST_PROCESSES).contains(&count)) {
            return Some(("processes", format!("must be from 1 to {MOST_PROCESSES}")));
        }
        match &self.url {
            Some(url) => http::fault(url, self.timeout_ms),
            None => (self.timeout_ms == 0).then(|| ("timeout_ms", "must be at least 1".to_owned())),
        }
    }
}

/// A check that can be asked.
#[derive(Debug)]
pub struct CustomCheck {
    kind: Kind,
    pub(crate) deterministic: bool,
}

#[derive(Debug)]
enum Kind {
    Http(HttpCheck),
    Program(Program),
}

/// Why the settings of a check cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("use it: `{0}` {1}")]
    Fault(&'static str, String),
    #[error(transparent)]
    Http(#[from] http::SetupError),
}

impl CustomCheck {
    /// `folder` is the one of the settings file.
    ///
    /// # Errors
    /// The settings have a fault, the address is not HTTP, or the key cannot be read.
    pub fn new(settings: &Settings, folder: &Path, execution: &Execution) -> Result<Self, SetupError> {
        if let Some((key, reason)) = settings.fault() {
            return Err(SetupError::Fault(key, reason));
        }
        let timeout = Duration::from_millis(settings.timeout_ms);
        let kind = match (&settings.url, &settings.command) {
            (Some(url), _) => Kind::Http(HttpCheck::new(url, settings.key.as_ref(), timeout)?),
            (None, command) => {
                let folder = folder.join(settings.folder.as_deref().unwrap_or(Path::new("")));
                let command = command.clone().unwrap_or_default();
                Kind::Program(Program::new(
                    command,
                    folder,
                    execution.clone(),
                    settings.processes.unwrap_or(1),
                    timeout,
                ))
            }
        };
        Ok(Self { kind, deterministic: settings.deterministic })
    }

    /// Whether this worker allows the check.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match &self.kind {
            Kind::Http(_) => true,
            Kind::Program(program) => program.is_allowed(),
        }
    }

    /// Asks about a transcript, which is JSON. `id` is the same when a lost request is sent again.
    pub(crate) async fn ask(&self, id: &str, transcript: &str) -> Result<Answered, CustomError> {
        if !self.is_allowed() {
            return Err(CustomError::NotAllowed);
        }
        let answer = match &self.kind {
            Kind::Http(service) => service.ask(id, transcript).await,
            Kind::Program(program) => program.ask(id, transcript).await,
        };
        answer.map_err(|error| match error {
            Error::Malformed(why) => CustomError::Malformed(redact::redact(&why).into_owned()),
            Error::TimedOut(_) | Error::Failed(_) => {
                CustomError::Failed(redact::redact(&error.to_string()).into_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests;
