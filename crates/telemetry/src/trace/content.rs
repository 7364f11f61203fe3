//! Messages as the JSON of the GenAI conventions. Only built if the operator enables it.

use record::{
    Call, Turn,
    call::Finish,
    turn::{Origin, Part, ToolCall},
};
use serde_json::{Value, json};

use super::texts::Texts;

/// All turns up to the last answer, as text; `None` without turns. Phoenix and Langfuse show a session as the inputs and
/// outputs of roots, so a reviewer reads the turns here.
pub(super) fn conversation(turns: &[Turn], texts: &Texts) -> Option<String> {
    let (last, before) = turns.split_last()?;
    let mut text = String::new();
    for turn in before {
        // The rest would be cut anyway.
        if text.len() > texts.most_bytes() {
            break;
        }
        say(&mut text, user(turn), &texts.long_text(&turn.user));
        say(&mut text, agent(turn), &texts.long_text(&turn.said().unwrap_or_default()));
    }
    say(&mut text, user(last), &texts.long_text(&last.user));
    text.truncate(text.trim_end().len());
    Some(texts.cut(text))
}

fn say(text: &mut String, speaker: &str, said: &str) {
    text.push_str(speaker);
    text.push_str(": ");
    text.push_str(said);
    text.push_str("\n\n");
}

fn user(turn: &Turn) -> &'static str {
    if turn.speaker == Origin::Program { "Program" } else { "User" }
}

fn agent(turn: &Turn) -> &'static str {
    if turn.speaker == Origin::Program { "Output" } else { "Agent" }
}

/// The user's message in a turn.
pub(super) fn input(turn: &Turn, texts: &Texts) -> String {
    let part = json!({ "type": "text", "content": texts.long_text(&turn.user) });
    json!([{ "role": "user", "parts": [part] }]).to_string()
}

/// The agent's answer; `None` without one. `call`: the agent's last one.
pub(super) fn output(turn: &Turn, call: Option<&Call>, texts: &Texts) -> Option<String> {
    let mut parts: Vec<Value> = Vec::new();
    let mut left = texts.most_bytes();
    let has_text = turn.agent.as_deref().is_some_and(|text| !text.is_empty());
    for part in turn.parts() {
        // If the text is too long, other parts are omitted, but never the answer.
        let (told, is_answer) = match part {
            Part::Called(call) => (tool_parts(call, texts), false),
            Part::Said(text) => {
                let is_answer = turn.agent.as_deref() == Some(text);
                (vec![json!({ "type": "text", "content": texts.long_text(text) })], is_answer)
            }
        };
        for part in told {
            let size = if is_answer { 0 } else { part.to_string().len() };
            if size > left {
                break;
            }
            left -= size;
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return None;
    }
    let finish_reason = match call.map_or((None, None), |call| (call.error.as_deref(), call.finish)) {
        (Some(_), _) => "error",
        (None, Some(Finish::Length)) => "length",
        (None, Some(Finish::Refused)) => "content_filter",
        (None, _) if has_text => "stop",
        (None, _) => "tool_call",
    };
    Some(json!([{ "role": "assistant", "parts": parts, "finish_reason": finish_reason }]).to_string())
}

fn tool_parts(call: &ToolCall, texts: &Texts) -> Vec<Value> {
    let mut parts = vec![called(call, texts)];
    if let Some(result) = &call.result {
        let id = texts.short_text(&call.id);
        parts.push(json!({ "type": "tool_call_response", "id": id, "response": texts.long_text(result) }));
    }
    parts
}

/// A tool call without its result.
pub(super) fn called(call: &ToolCall, texts: &Texts) -> Value {
    let arguments = texts.long_text(&call.arguments);
    let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    json!({
        "type": "tool_call", "id": texts.short_text(&call.id), "name": texts.short_text(&call.name),
        "arguments": arguments,
    })
}
