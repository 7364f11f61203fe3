//! Writes a completion: whole, or in pieces as server-sent events.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Usage,
    mock::{answer::Answer, model::pieces},
};

/// What all parts of one reply have in common.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) id: u64,
    pub(super) model: String,
    pub(super) fingerprint: Option<String>,
}

#[derive(Debug, Serialize)]
struct Whole<'a> {
    id: String,
    object: &'static str,
    /// No clock is read: the same question gets the same bytes.
    created: u64,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    choices: [Choice<'a>; 1],
    usage: Value,
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    index: u32,
    message: Said<'a>,
    finish_reason: &'a str,
}

#[derive(Debug, Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    actions: &'a [String],
}

#[derive(Debug, Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    choices: Vec<DeltaChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Debug, Serialize)]
struct DeltaChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    actions: &'a [String],
}

pub(super) fn whole(heading: &Heading, answer: &Answer) -> Vec<u8> {
    let message =
        Said { role: "assistant", content: &answer.text, tool_calls: tool_calls(answer), actions: &answer.actions };
    bytes_of(&Whole {
        id: name(heading),
        object: "chat.completion",
        created: 0,
        model: &heading.model,
        system_fingerprint: heading.fingerprint.as_deref(),
        choices: [Choice { index: 0, message, finish_reason: answer.finish.word() }],
        usage: counted(answer.usage),
    })
}

/// The events of a stream: one for each piece of text, so that the first is the first token; then one event with the
/// end, which includes tool calls and actions, the requested usage, and `[DONE]`.
pub(super) fn events(heading: &Heading, answer: &Answer, wants_usage: bool) -> Vec<Vec<u8>> {
    let id = name(heading);
    let chunk = |choices, usage| {
        event(&Chunk {
            id: &id,
            object: "chat.completion.chunk",
            created: 0,
            model: &heading.model,
            system_fingerprint: heading.fingerprint.as_deref(),
            choices,
            usage,
        })
    };
    let choice = |delta, finish_reason| vec![DeltaChoice { index: 0, delta, finish_reason }];
    let mut events: Vec<Vec<u8>> = pieces(&answer.text)
        .enumerate()
        .map(|(index, piece)| {
            let role = (index == 0).then_some("assistant");
            chunk(choice(Delta { role, content: Some(piece), ..Delta::default() }, None), None)
        })
        .collect();
    let mut end = Vec::new();
    if !answer.tool_calls.is_empty() || !answer.actions.is_empty() {
        let delta = Delta { tool_calls: tool_calls(answer), actions: &answer.actions, ..Delta::default() };
        end.extend(chunk(choice(delta, None), None));
    }
    end.extend(chunk(choice(Delta::default(), Some(answer.finish.word())), None));
    if wants_usage {
        end.extend(chunk(Vec::new(), Some(counted(answer.usage))));
    }
    end.extend_from_slice(b"data: [DONE]\n\n");
    match events.last_mut() {
        Some(last) => last.extend(end),
        None => events.push(end),
    }
    events
}

pub(super) fn error(message: &str, kind: &str) -> Vec<u8> {
    bytes_of(&json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } }))
}

fn tool_calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.tool_calls.iter().enumerate();
    calls
        .map(|(index, call)| {
            json!({
                "index": index, "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        })
        .collect()
}

fn counted(usage: Usage) -> Value {
    let Usage { input, output, .. } = usage;
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

fn name(heading: &Heading) -> String {
    format!("chatcmpl-{:016x}", heading.id)
}

fn event(chunk: &Chunk<'_>) -> Vec<u8> {
    let mut bytes = b"data: ".to_vec();
    bytes.extend(bytes_of(chunk));
    bytes.extend_from_slice(b"\n\n");
    bytes
}

fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts, numbers and lists are always JSON")
}
