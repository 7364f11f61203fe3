//! An answer as Gemini writes it: whole, or a piece of a stream, which has the same shape.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    chat::Finish,
    gather::{Gather, Piece, Trouble, tokens},
    http::rejection::Fault,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Usage>,
    #[serde(default)]
    model_version: String,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

/// Thoughts are not included in the count of the candidates.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

pub(super) fn take(data: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
    let answer: Answer = serde_json::from_slice(data).map_err(|error| Trouble::Malformed(error.to_string()))?;
    if let Some(error) = answer.error {
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let Fault { message, no_money, .. } = Fault::of(&error);
        let is_used_up = no_money.then(|| Trouble::Exhausted(message.clone()));
        return Err(is_used_up.unwrap_or(Trouble::Status(status.unwrap_or(500), message)));
    }
    gather.name_model(&answer.model_version);
    count(answer.usage_metadata, gather);
    if answer.prompt_feedback.and_then(|feedback| feedback.block_reason).is_some() {
        // A blocked prompt has no candidates.
        gather.begin();
        gather.end(Finish::Refused);
    }
    let Some(candidate) = answer.candidates.into_iter().next() else { return Ok(()) };
    gather.begin();
    for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
        hear(part, gather)?;
    }
    if let Some(reason) = candidate.finish_reason {
        let finish = finish(&reason, gather.calls_count() > 0);
        gather.end(finish);
    }
    Ok(())
}

fn hear(part: Value, gather: &mut Gather) -> Result<(), Trouble> {
    let text = part.get("text").and_then(Value::as_str);
    let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
    match text {
        Some(text) if is_thought => gather.think(text),
        Some(text) => gather.say(text),
        None => {}
    }
    if let Some(call) = part.get("functionCall") {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let place = gather.calls_count();
        let id = Some(text("id").to_owned()).filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{place}"));
        let arguments = call.get("args").map_or_else(|| "{}".to_owned(), Value::to_string);
        gather.call(&Piece { index: Some(place), id: &id, name: text("name"), arguments: &arguments })?;
    }
    gather.keep(0, part);
    Ok(())
}

/// Cached tokens are included in the prompt.
fn count(usage: Option<Usage>, gather: &mut Gather) {
    let Some(usage) = usage else { return };
    let counts = &mut gather.counts;
    if let Some(prompt) = tokens(usage.prompt_token_count) {
        counts.input = Some(prompt + tokens(usage.tool_use_prompt_token_count).unwrap_or(0));
    }
    counts.cached_input = tokens(usage.cached_content_token_count).or(counts.cached_input);
    counts.reasoning = tokens(usage.thoughts_token_count).or(counts.reasoning);
    let candidates = tokens(usage.candidates_token_count);
    if candidates.is_some() || counts.reasoning.is_some() {
        counts.output = Some(candidates.unwrap_or(0) + counts.reasoning.unwrap_or(0));
    }
}

fn finish(reason: &str, calls: bool) -> Finish {
    match reason {
        "STOP" if calls => Finish::ToolCalls,
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "MODEL_ARMOR" => Finish::Refused,
        _ => Finish::Other,
    }
}
