//! A reply as an A2A agent gives it: a message, or a task with its artifacts and its last status.

use std::collections::BTreeMap;

use llm::{Receipt, Timing};
use record::turn::{Note, Said};
use serde_json::Value;
use tokio::time::Instant;

use crate::response::Response;

use super::{
    KnownTask,
    wire::{self, Failure, Version},
};

/// The size limit of a reply.
const MOST_BYTES: usize = 1 << 20;
const MOST_MESSAGES: usize = 1_000;
/// The size limit of the agent's ids of a conversation and a task.
const MOST_ID_BYTES: usize = 4 << 10;
const MOST_NOTES: usize = 8;

/// What follows an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    GoesOn,
    Over,
    Failed(Failure),
}

#[derive(Debug)]
pub(super) struct HeardTask {
    version: Version,
    known: KnownTask,
    /// The task of this reply.
    task: Option<String>,
    /// The messages of the turn in order: artifacts by their id, and messages of the agent.
    said: Vec<(Option<String>, String)>,
    notes: Vec<Note>,
    bytes: usize,
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl HeardTask {
    pub(super) fn new(version: Version, known: KnownTask) -> Self {
        let (said, notes) = (Vec::new(), Vec::new());
        Self { version, known, task: None, said, notes, bytes: 0, pieces: 0, first: None, last: None }
    }

    /// The id of the task, which a result keeps even if the task is not done.
    pub(super) fn task(&self) -> &str {
        self.task.as_deref().unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        self.said.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Takes the result of a call that is not streamed.
    pub(super) fn whole(&mut self, result: &Value) -> Result<Progress, String> {
        match self.kind(result)? {
            ("message", message) => self.message(message, None),
            ("task", task) => self.task_again(task),
            (kind, _) => Err(format!("its result is a {kind}, and neither a task nor a message")),
        }
    }

    /// Takes the current state of a task.
    pub(super) fn task_again(&mut self, task: &Value) -> Result<Progress, String> {
        self.begin(task, "id")?;
        self.said.clear();
        self.bytes = 0;
        for artifact in task["artifacts"].as_array().into_iter().flatten() {
            self.artifact(artifact, false, None)?;
        }
        self.status(&task["status"], None)
    }

    /// Takes the result of an event of a stream.
    pub(super) fn event(&mut self, result: &Value, came: Instant) -> Result<Progress, String> {
        match self.kind(result)? {
            ("message", message) => self.message(message, Some(came)),
            ("task", task) => {
                self.begin(task, "id")?;
                for artifact in task["artifacts"].as_array().into_iter().flatten() {
                    self.artifact(artifact, false, Some(came))?;
                }
                self.status(&task["status"], Some(came))
            }
            ("status-update", update) => {
                self.begin(update, "taskId")?;
                match self.status(&update["status"], Some(came))? {
                    // In version 0.3 this marks the last event, whatever the state is.
                    Progress::GoesOn if update["final"] == true => Ok(Progress::Over),
                    verdict => Ok(verdict),
                }
            }
            ("artifact-update", update) => {
                self.begin(update, "taskId")?;
                self.artifact(&update["artifact"], update["append"] == true, Some(came))?;
                Ok(Progress::GoesOn)
            }
            _ => Ok(Progress::GoesOn),
        }
    }

    /// The ids to send with the next message.
    pub(super) fn known(&self) -> KnownTask {
        self.known.clone()
    }

    /// The reply to a call sent at `sent` and answered in full at `ended`.
    pub(super) fn finish(self, sent: Instant, ended: Instant, streamed: bool) -> Response {
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0);
        let between = gaps.and_then(|gaps| Some((self.last? - self.first?) / gaps));
        let timing = Timing {
            first_token: self.first.filter(|_| streamed).map(|first| first - sent),
            inter_token: between.filter(|_| streamed),
            total: ended - sent,
            ..Timing::default()
        };
        let texts: Vec<String> = self.said.into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).collect();
        let said = |text: &String| Said { text: text.clone(), tool_calls_before: u32::MAX };
        Response {
            messages: if texts.len() > 1 { texts.iter().map(said).collect() } else { Vec::new() },
            text: texts.join("\n"),
            notes: self.notes,
            receipt: Box::new(Receipt { timing, tries: 1, ..Receipt::default() }),
            ..Response::default()
        }
    }

    /// The kind of a result, by the names of version 0.3.
    fn kind<'v>(&self, result: &'v Value) -> Result<(&'static str, &'v Value), String> {
        let kinds = ["message", "task", "status-update", "artifact-update"];
        let found = match self.version {
            Version::V03 => {
                let kind = result["kind"].as_str();
                kinds.into_iter().find(|known| kind == Some(known)).map(|kind| (kind, result))
            }
            Version::V10 => {
                let keys = ["message", "task", "statusUpdate", "artifactUpdate"];
                keys.into_iter().zip(kinds).find_map(|(key, kind)| Some((kind, result.get(key)?)))
            }
        };
        found.ok_or_else(|| "its result is neither a task nor a message".to_owned())
    }

    /// Notes the ids of the conversation and the task.
    fn begin(&mut self, value: &Value, task: &str) -> Result<(), String> {
        for (key, place) in [("contextId", &mut self.known.context), (task, &mut self.task)] {
            let Some(id) = value[key].as_str() else { continue };
            if id.len() > MOST_ID_BYTES {
                return Err(format!("an id of more than {MOST_ID_BYTES} bytes"));
            }
            if place.as_deref() != Some(id) {
                *place = Some(id.to_owned());
            }
        }
        if self.task.is_some() && self.known.task != self.task {
            (self.known.task, self.known.artifacts) = (None, BTreeMap::new());
        }
        Ok(())
    }

    /// A message of the agent that is the whole reply.
    fn message(&mut self, message: &Value, came: Option<Instant>) -> Result<Progress, String> {
        self.begin(message, "taskId")?;
        let text = self.parts(message)?;
        self.say(None, &text, came)?;
        (self.known.task, self.known.artifacts) = (None, BTreeMap::new());
        Ok(Progress::Over)
    }

    /// Reads a status. Messages of an agent that is still working are not a reply.
    fn status(&mut self, status: &Value, came: Option<Instant>) -> Result<Progress, String> {
        let state = wire::state(status);
        let words = self.parts(&status["message"])?;
        let because = |what: &str| if words.is_empty() { what.to_owned() } else { format!("{what}: {words}") };
        match state.as_str() {
            "submitted" | "working" => return Ok(Progress::GoesOn),
            "failed" => return Ok(Progress::Failed(Failure::Failed(because("the task failed")))),
            "rejected" => return Ok(Progress::Failed(Failure::Refused(because("the agent rejects the task")))),
            "canceled" => return Ok(Progress::Failed(Failure::Failed(because("the task was canceled")))),
            "auth-required" => {
                let what = because("the task needs an authorization that gabfest does not have");
                return Ok(Progress::Failed(Failure::Refused(what)));
            }
            "completed" => {
                self.say(None, &words, came)?;
                (self.known.task, self.known.artifacts) = (None, BTreeMap::new());
            }
            "input-required" => {
                self.say(None, &words, came)?;
                self.known.task = self.task.clone();
                let artifacts = self.said.iter().filter_map(|(id, text)| Some((id.clone()?, text.len())));
                self.known.artifacts.extend(artifacts);
            }
            other => return Err(format!("its task has the unknown state {other:?}")),
        }
        Ok(Progress::Over)
    }

    /// Takes an artifact or a chunk of one. Text that an earlier turn of the task received is not repeated.
    fn artifact(&mut self, artifact: &Value, append: bool, came: Option<Instant>) -> Result<(), String> {
        let id = artifact["artifactId"].as_str().unwrap_or_default();
        if id.len() > MOST_ID_BYTES {
            return Err(format!("an id of more than {MOST_ID_BYTES} bytes"));
        }
        let text = self.parts(artifact)?;
        let heard_before = self.known.artifacts.get(id).copied().filter(|_| !append);
        if heard_before == Some(text.len()) {
            return Ok(());
        }
        if !append {
            // A second version replaces the first.
            if let Some(known) = self.said.iter_mut().find(|(known, _)| known.as_deref() == Some(id)) {
                self.bytes -= known.1.len();
                known.1.clear();
            }
        }
        self.say(Some(id), &text, came)
    }

    fn say(&mut self, artifact: Option<&str>, text: &str, came: Option<Instant>) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(came) = came {
            self.pieces += 1;
            self.first.get_or_insert(came);
            self.last = Some(came);
        }
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            return Err(format!("a reply of more than {MOST_BYTES} bytes"));
        }
        let count = self.said.len();
        let same = self.said.iter_mut().find(|(id, _)| artifact.is_some() && id.as_deref() == artifact);
        match same {
            Some((_, known)) => known.push_str(text),
            None if count == MOST_MESSAGES => return Err(format!("more than {MOST_MESSAGES} messages")),
            None => self.said.push((artifact.map(str::to_owned), text.to_owned())),
        }
        Ok(())
    }

    /// The text of a message or an artifact: its text parts as one, and data as JSON. Files are noted.
    fn parts(&mut self, holder: &Value) -> Result<String, String> {
        let mut text = String::new();
        for part in holder["parts"].as_array().into_iter().flatten() {
            if let Some(words) = part["text"].as_str() {
                text.push_str(words);
            } else if let Some(data) = part.get("data").filter(|data| !data.is_null()) {
                text.push_str(&data.to_string());
            } else if self.notes.len() < MOST_NOTES {
                let file = if part["file"].is_object() { &part["file"] } else { part };
                let name = ["name", "filename", "uri", "url"].iter().find_map(|key| file[*key].as_str());
                let name: String = name.unwrap_or("without a name").chars().take(200).collect();
                self.notes.push(Note { kind: "file".to_owned(), text: format!("the agent sent a file: {name}") });
            }
            if text.len() > MOST_BYTES {
                return Err(format!("a reply of more than {MOST_BYTES} bytes"));
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
