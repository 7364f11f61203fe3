//! Recorded chats, `*.messages.jsonl`: one chat per line, as in OpenAI's files for fine-tuning and evals.
//!
//! The user repeats the recorded messages, and each answer should mean the same as the recorded one. The next turn
//! builds on the recorded answer, because the user's recorded messages do.

use std::collections::BTreeMap;

use scenario::{
    Action, Check, Environment, Format, History, Message, OnFailure, Rule, Scenario, Source, Step, Strategy, check,
    format::{Files, Script, stem},
    message::Speaker,
    user::Pauses,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use yaml::{Diagnostic, Document, Findings, Part, schema};

use yaml::bounded::Words;

/// The largest file, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// The time limit of an answer.
const TIMEOUT_MS: u64 = 90_000;

pub const FORMAT: &dyn Format = &Messages;

#[derive(Debug)]
struct Messages;

/// One recorded chat.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Recorded chat")]
struct ChatDocument {
    /// The chat's name. The default is the file's name and the number of the line.
    name: Option<Words>,
    /// The messages in order. The last one is an answer of the assistant.
    #[serde(rename = "messages")]
    #[schemars(with = "Vec<MessageDocument>", length(min = 1))]
    _messages: Vec<Value>,
    /// The assistant's tools. gabfest ignores them.
    #[serde(default, rename = "tools")]
    _tools: Vec<Value>,
}

/// One message of a recorded chat.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RecordedMessage")]
struct MessageDocument {
    /// Who speaks.
    role: Role,
    /// The text.
    content: String,
    /// The name of the speaker. gabfest ignores it.
    #[serde(rename = "name")]
    _name: Option<String>,
    /// The weight in fine-tuning. gabfest ignores it.
    #[serde(rename = "weight")]
    _weight: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    Developer,
    User,
    Assistant,
}

impl Format for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".messages.jsonl"]
    }

    fn loose_endings(&self) -> &'static [&'static str] {
        &[".jsonl"]
    }

    fn max_bytes(&self) -> usize {
        MAX_BYTES
    }

    fn open_beside(&self, text: &str, path: &str, _files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
        let (mut documents, mut diagnostics) = (Vec::new(), Vec::new());
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            match parsed(text) {
                Ok(value) => documents.push(placed(value, stem(path, self), path, line)),
                Err((column, message)) => diagnostics.push(Diagnostic::error(path, line, column, message)),
            }
        }
        (documents, diagnostics)
    }

    fn nothing_found(&self, _text: &str, path: &str) -> Option<Diagnostic> {
        let help = "write a line such as `{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, …]}`";
        Some(Diagnostic::error(path, 0, 0, "the file holds no chat").with_help(help))
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let mut findings = Findings::new(&document.path);
        let script = script(document, &mut findings);
        let script = if findings.has_errors() { None } else { script };
        (script, findings.into_sorted())
    }

    fn schema(&self) -> Value {
        schema::of::<ChatDocument>()
    }
}

/// JSON by its own parser: YAML's does not support surrogate pairs, with which Python writes emoji. The error is a
/// column and a message.
fn parsed(text: &str) -> Result<Value, (u32, String)> {
    if text.len() > yaml::MAX_BYTES {
        return Err((0, format!("the line has {} bytes; at most {} are read", text.len(), yaml::MAX_BYTES)));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let message = whole.split(" at line ").next().unwrap_or(&whole);
        (u32::try_from(error.column()).unwrap_or(0), format!("the line is not JSON: {message}"))
    })?;
    if !value["messages"].is_array() {
        return Err((0, "expected an object with a list of `messages`".to_owned()));
    }
    Ok(value)
}

/// A named chat, all of it at its line.
fn placed(mut value: Value, stem: &str, path: &str, line: u32) -> Document {
    if let Value::Object(map) = &mut value {
        map.entry("name").or_insert_with(|| json!(format!("{stem} {line}")));
    }
    let keys_of =
        |value: &Value| -> Vec<String> { value.as_object().map_or_else(Vec::new, |map| map.keys().cloned().collect()) };
    let mut lines: BTreeMap<String, u32> = keys_of(&value).into_iter().map(|key| (key, line)).collect();
    for (index, message) in value["messages"].as_array().into_iter().flatten().enumerate() {
        lines.insert(format!("messages[{index}]"), line);
        lines.extend(keys_of(message).into_iter().map(|key| (format!("messages[{index}].{key}"), line)));
    }
    Document::of_text(path, value, &lines)
}

fn script(document: &Document, findings: &mut Findings) -> Option<Script> {
    let root = document.root();
    let parts = root.items_of("messages");
    let line = parts.first().map_or(root.line(), Part::line).max(1);
    let written = root.decode::<ChatDocument>(findings);
    let messages: Vec<MessageDocument> =
        parts.iter().filter_map(|part| part.decode::<MessageDocument>(findings)).collect();
    let written = written?;
    let first = messages.iter().position(|message| message.role == Role::User).unwrap_or(messages.len());
    let (opening, chat) = messages.split_at(first);
    let mut steps = Vec::new();
    let mut said = Vec::new();
    for message in chat {
        if message.role != Role::Assistant {
            said.push(message.said());
            continue;
        }
        let rule =
            Rule::SemanticSimilar(check::SemanticSimilar { expected: vec![message.content.clone()], threshold: None });
        let action =
            Action::Say { messages: std::mem::take(&mut said), expected: Some(message.said()), timeout_ms: TIMEOUT_MS };
        steps.push(Step { name: None, action, checks: vec![Check::new(rule, line)], line });
    }
    if !said.is_empty() || steps.is_empty() {
        findings.error(root.spot_of("messages"), "the chat does not end with an answer of the assistant");
        findings.help("end with the answer that the agent should give");
        return None;
    }
    let scenario = Scenario {
        name: written.name.map_or_else(|| stem(&document.path, FORMAT).to_owned(), |name| name.0),
        description: String::new(),
        format: FORMAT.name().to_owned(),
        source: Source { path: document.path.clone(), line },
        tags: Vec::new(),
        weight: 1.0,
        required_pass_rate: None,
        plugins: Vec::new(),
        environment: Environment::default(),
        mocks: Vec::new(),
        opening: opening.iter().map(MessageDocument::said).collect(),
        steps,
        strategy: Strategy::AllPass,
        required_score: None,
        history: History::Expected,
        on_failure: OnFailure::Continue,
        expect_failure: false,
        pauses: Pauses::default(),
        vars: serde_json::Map::new(),
    };
    Some(Script { scenario, personas: Vec::new(), repeats: None })
}

impl MessageDocument {
    fn said(&self) -> Message {
        let speaker = match self.role {
            Role::System | Role::Developer => Speaker::System,
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Agent,
        };
        Message::text_of(speaker, &self.content)
    }
}
