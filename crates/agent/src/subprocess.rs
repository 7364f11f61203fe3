//! An agent that is a program on this machine: JSON lines in on stdin, JSON lines out on stdout.
//!
//! The operator of the worker must allow it. The settings list what it gets of the environment.

mod process;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use llm::{
    Call, Named, hint,
    http::{headers, resources, secrets::Secrets},
    key::KeyRef,
};
use record::{FailureKind, turn::Note};
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::process::Command;

use crate::{
    Error, Start,
    connection::Connection,
    path::Path,
    reading::{Heard, Reading},
    request::Request,
    response::Response,
    section::{Connecting, Section, keys_of},
    surroundings::Surroundings,
    template::Values,
};

use process::Process;

/// What a program may see of the worker's own environment.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// Variables of a program that has its own conversation: the addresses of its tools.
const TOOLS_URL: &str = "GABFEST_TOOLS_URL";
const MCP_URL: &str = "GABFEST_MCP_URL";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The program and its arguments; no shell is between.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    #[serde(default)]
    pub process: PerWhat,
    /// Its working folder, relative to the settings file.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Its variables, in addition to `PATH`, `HOME`, `LANG` and `TMPDIR`. A value `env:NAME` or `file:PATH` is read
    /// from there.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PerWhat {
    /// It starts and ends with the conversation.
    #[default]
    PerConversation,
    /// One process for all conversations. `conversation` identifies them, and replies name the `id` of the request.
    Shared,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("its variable {name} has no value")]
    Variable { name: String, source: llm::key::Error },
}

#[derive(Debug)]
pub(crate) struct Subprocess {
    name: String,
    settings: Settings,
    folder: PathBuf,
    may_execute: bool,
    variables: Vec<(String, String)>,
    secrets: Arc<Secrets>,
    shared: Mutex<Option<Arc<Process>>>,
    reading: Arc<Reading>,
}

#[derive(Debug)]
struct Conversation {
    name: String,
    process: Arc<Process>,
    secrets: Arc<Secrets>,
    reading: Arc<Reading>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "subprocess"
    }

    fn keys(&self) -> Vec<KeyRef> {
        keys_of(None, None, self.variables.values())
    }

    fn calls_tools(&self) -> bool {
        true
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let program = self.command.first().is_some_and(|program| !program.trim().is_empty());
        (!program).then(|| ("command", "is empty".to_owned()))
    }

    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting {
        Ok(Box::new(Subprocess::new(name, self, surroundings)?))
    }
}

impl Subprocess {
    pub(crate) fn new(name: &str, settings: &Settings, surroundings: &Surroundings) -> Result<Self, SettingsError> {
        let (mut variables, mut keys) = (Vec::new(), Vec::new());
        for (name, value) in &settings.variables {
            let value = match KeyRef::parse(value) {
                Ok(place) => {
                    let key =
                        place.resolve().map_err(|source| SettingsError::Variable { name: name.clone(), source })?;
                    let value = key.expose_secret().to_owned();
                    keys.push(key);
                    value
                }
                Err(_) => value.clone(),
            };
            variables.push((name.clone(), value));
        }
        let path = |text: &str| Some(Path::parse(text).expect("these are JSONPaths").into());
        let reading = Reading {
            text: path("$.text"),
            delta: path("$.delta"),
            done: path("$.done"),
            tool_calls: path("$.tool_calls"),
            actions: path("$.actions"),
            error: path("$.error"),
            input_tokens: path("$.usage.input_tokens"),
            output_tokens: path("$.usage.output_tokens"),
            ..Reading::default()
        };
        Ok(Self {
            name: name.to_owned(),
            folder: surroundings.folder.join(settings.folder.as_deref().unwrap_or(std::path::Path::new(""))),
            settings: settings.clone(),
            may_execute: surroundings.may_execute,
            variables,
            secrets: Arc::new(Secrets::new(keys)),
            shared: Mutex::default(),
            reading: Arc::new(reading),
        })
    }

    /// `known`: variables that only a conversation has.
    fn start(&self, known: &[(&str, &str)]) -> Result<Arc<Process>, Error> {
        let mut command = Command::new(&self.settings.command[0]);
        command.args(&self.settings.command[1..]).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(known.iter().copied().filter(|(_, value)| !value.is_empty()));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        Process::start(command).map(Arc::new).map_err(|error| {
            let what = format!("agent {} cannot be started: {}", self.name, self.settings.command[0]);
            if let Some(lack) = resources::lack_to_start(&error) {
                let message = hint::with(&format!("{what}: {} ({error})", lack.message()), Some(lack.hint()));
                return Error::before(FailureKind::OutOfResources, message);
            }
            Error::before(FailureKind::Misconfigured, format!("{what}: {error}"))
        })
    }

    /// The process of all conversations, which is started again if it has ended.
    fn shared(&self) -> Result<Arc<Process>, Error> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.as_ref().filter(|process| process.is_running()) {
            Some(process) => Ok(Arc::clone(process)),
            None => Ok(Arc::clone(shared.insert(self.start(&[])?))),
        }
    }
}

impl Connection for Subprocess {
    fn open(&self, start: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        if !self.may_execute {
            let message = format!(
                "agent {} is a program of this machine, which its operator does not allow; --allow-exec=host would",
                self.name
            );
            return Err(Error::before(FailureKind::ExecutionNotAllowed, message));
        }
        let process = match self.settings.process {
            PerWhat::PerConversation => {
                let context = &start.context;
                self.start(&[(TOOLS_URL, &context.tools_url), (MCP_URL, &context.mcp_url)])?
            }
            PerWhat::Shared => self.shared()?,
        };
        let (secrets, reading) = (Arc::clone(&self.secrets), Arc::clone(&self.reading));
        Ok(Arc::new(Conversation { name: self.name.clone(), process, secrets, reading }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let mut line = Values::of(request, "", &serde_json::Map::new()).object();
        line.remove("session");
        let id = format!("{}/{}", request.context.idempotency_key, request.context.try_number);
        line.insert("id".to_owned(), id.clone().into());
        if let Some(trace) = request.context.trace {
            line.insert("traceparent".to_owned(), headers::traceparent(trace).into());
        }
        let mut line = Value::Object(line).to_string();
        line.push('\n');
        let mut answers = self.process.ask(&id, line.as_bytes()).await.map_err(|why| self.gone(why))?;
        let sent = answers.sent();
        let mut heard = Heard::new(&self.reading);
        let ended = loop {
            let (line, came) = answers.next().await.map_err(|why| self.gone(why))?;
            let over = heard.event("", &line, came).map_err(|trouble| self.malformed(trouble.0, &heard.text))?;
            if over || heard.is_answered() {
                break came;
            }
        };
        answers.finish();
        let streamed = heard.is_streamed();
        let mut reply = heard.finish(sent, ended, streamed);
        reply.notes.extend(
            self.process.last_words().map(|text| Note { kind: "stderr".to_owned(), text: self.secrets.hide(text) }),
        );
        Ok(reply)
    }
}

impl Conversation {
    /// The error of a program that has ended or was killed, with what it wrote to stderr.
    fn gone(&self, why: String) -> llm::Error {
        let message = match self.process.last_words() {
            Some(words) => format!("{why}; it wrote: {}", words.trim()),
            None => why,
        };
        llm::Error::Unreachable {
            endpoint: self.name.clone(),
            status: None,
            message: self.secrets.hide(message),
            sent: true,
        }
    }

    fn malformed(&self, message: String, partial: &str) -> llm::Error {
        let partial = self.secrets.hide(partial.to_owned());
        llm::Error::Malformed { endpoint: self.name.clone(), message: self.secrets.hide(message), partial }
    }
}
