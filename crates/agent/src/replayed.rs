//! An agent that replays: a list of answers, or the transcripts of an old run.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use llm::{Call, Named, Receipt};
use record::{FailureKind, Turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Error as AgentError, Start,
    connection::Connection,
    request::Request,
    response::Response,
    section::{Connecting, Section},
    surroundings::Surroundings,
};

/// Far above the transcripts of a night's run.
const MOST_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// The answers of every conversation, in order.
    pub answers: Vec<String>,
    /// Whether the answers start again after the last one. If not, the agent then says nothing.
    pub repeat: bool,
    /// The `transcripts.jsonl` of an old run: each trial's agent says what it said then. Such a file holds the trials
    /// that did not pass, and those whose transcripts were kept on request.
    pub transcripts: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path} is larger than {MOST_BYTES} bytes")]
    TooLarge { path: PathBuf },
    #[error("line {line} of {path} is not a transcript")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
}

#[derive(Debug)]
pub(crate) struct Replayed {
    name: String,
    source: Source,
    repeat: bool,
}

#[derive(Debug)]
enum Source {
    Answers(Arc<[Response]>),
    /// By the id of the trial.
    Trials(BTreeMap<String, Arc<[Response]>>),
}

#[derive(Debug)]
struct Conversation {
    name: String,
    answers: Arc<[Response]>,
    repeat: bool,
    said: AtomicUsize,
}

/// The parts of a transcript that are needed.
#[derive(Deserialize)]
struct Line {
    trial_id: String,
    turns: Vec<Turn>,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "replayed"
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        match (&self.answers[..], &self.transcripts) {
            ([], None) => Some(("answers", "is missing: write `answers` or `transcripts`".to_owned())),
            ([_, ..], Some(_)) => Some(("transcripts", "cannot be used with `answers`: write one of them".to_owned())),
            _ => None,
        }
    }

    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting {
        Ok(Box::new(Replayed::new(name, self, &surroundings.folder)?))
    }
}

impl Replayed {
    /// Relative paths are relative to `folder`.
    pub(crate) fn new(name: &str, settings: &Settings, folder: &Path) -> Result<Self, Error> {
        let source = match (&settings.answers[..], &settings.transcripts) {
            (_, Some(path)) => Source::Trials(read(&folder.join(path))?),
            (answers, None) => Source::Answers(answers.iter().map(|text| response(text.clone())).collect()),
        };
        Ok(Self { name: name.to_owned(), source, repeat: settings.repeat })
    }
}

impl Connection for Replayed {
    fn open(&self, start: &Start) -> Result<Arc<dyn Call<Request>>, AgentError> {
        let answers = match &self.source {
            Source::Answers(answers) => answers,
            Source::Trials(trials) => trials.get(&start.context.trial).ok_or_else(|| {
                let message = format!("the transcripts of agent {} hold no trial {}", self.name, start.context.trial);
                AgentError::before(FailureKind::Misconfigured, message)
            })?,
        };
        Ok(Arc::new(Conversation {
            name: self.name.clone(),
            answers: Arc::clone(answers),
            repeat: self.repeat,
            said: AtomicUsize::new(0),
        }))
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, _: &Request) -> Result<Response, llm::Error> {
        let said = self.said.fetch_add(1, Ordering::Relaxed);
        let next = if self.repeat { said % self.answers.len().max(1) } else { said };
        Ok(self.answers.get(next).cloned().unwrap_or_else(|| response(String::new())))
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Arc<[Response]>>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() > MOST_BYTES {
        return Err(Error::TooLarge { path: path.to_owned() });
    }
    let mut trials = BTreeMap::new();
    for (index, line) in BufReader::new(file.take(MOST_BYTES)).lines().enumerate() {
        let text = line.map_err(unreadable)?;
        if text.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&text).map_err(|source| Error::Line {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        // Programs of the scenario are not messages of the agent.
        let talked = line.turns.into_iter().filter(|turn| turn.speaker != record::turn::Origin::Program);
        trials.insert(line.trial_id, talked.map(spoken).collect());
    }
    Ok(trials)
}

fn spoken(turn: Turn) -> Response {
    Response {
        messages: turn.messages,
        tool_calls: turn.tool_calls,
        actions: turn.actions,
        ..response(turn.agent.unwrap_or_default())
    }
}

/// A replay costs nothing.
fn response(text: String) -> Response {
    let receipt = Box::new(Receipt { tries: 1, cost_nanos: Some(0), ..Receipt::default() });
    Response { text, receipt, ..Response::default() }
}
