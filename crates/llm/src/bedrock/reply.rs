//! An answer as Bedrock writes it: whole, or as the messages of an event stream.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    chat::Finish,
    gather::{Gather, Piece, Trouble, tokens},
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    output: Output,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Output {
    message: Message,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Vec<Block>,
}

/// A block, or an addition to one. Exactly one field is set.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Block {
    text: Option<String>,
    tool_use: Option<ToolUse>,
    reasoning_content: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolUse {
    tool_use_id: String,
    name: String,
    /// Whole: an object. Of a delta: a piece of its text.
    input: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    content_block_index: u64,
    start: Option<Block>,
    delta: Option<Block>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    #[serde(default)]
    message: String,
}

pub(super) fn whole(body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
    let answer: Answer = read(body)?;
    gather.begin();
    for (index, block) in (0..).zip(answer.output.message.content) {
        if let Some(reasoning) = block.reasoning_content {
            let inner = reasoning.get("reasoningText").cloned();
            gather
                .think(inner.as_ref().and_then(|inner| inner.get("text")).and_then(Value::as_str).unwrap_or_default());
            gather.keep(index, inner.unwrap_or(reasoning));
        }
        if let Some(call) = block.tool_use {
            let input = call.input.map_or_else(|| "{}".to_owned(), |input| input.to_string());
            gather.call(&Piece { index: Some(index), id: &call.tool_use_id, name: &call.name, arguments: &input })?;
        }
        gather.say(&block.text.unwrap_or_default());
    }
    count(answer.usage, gather);
    if let Some(reason) = answer.stop_reason {
        gather.end(finish(&reason));
    }
    Ok(())
}

/// Returns whether it is the last message of the stream: the usage comes after the end of the reply.
pub(super) fn event(name: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
    let event: Event = read(data)?;
    let index = event.content_block_index;
    match name {
        b"messageStart" => gather.begin(),
        b"contentBlockStart" => {
            if let Some(call) = event.start.and_then(|start| start.tool_use) {
                gather.call(&Piece { index: Some(index), id: &call.tool_use_id, name: &call.name, arguments: "" })?;
            }
        }
        b"contentBlockDelta" => extend(index, event.delta.unwrap_or_default(), gather)?,
        b"contentBlockStop" => gather.complete_call(index),
        b"messageStop" => gather.end(finish(&event.stop_reason.unwrap_or_default())),
        b"metadata" => {
            count(event.usage, gather);
            return Ok(true);
        }
        name => {
            if let Some(status) = status(name) {
                return Err(Trouble::Status(status, format!("{}: {}", String::from_utf8_lossy(name), event.message)));
            }
        }
    }
    Ok(false)
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Trouble> {
    serde_json::from_slice(bytes).map_err(|error| Trouble::Malformed(error.to_string()))
}

fn extend(index: u64, delta: Block, gather: &mut Gather) -> Result<(), Trouble> {
    gather.say(&delta.text.unwrap_or_default());
    if let Some(call) = delta.tool_use {
        let arguments = call.input.as_ref().and_then(Value::as_str).unwrap_or_default();
        gather.call(&Piece { index: Some(index), arguments, ..Piece::default() })?;
    }
    let Some(reasoning) = delta.reasoning_content else { return Ok(()) };
    if reasoning.get("redactedContent").is_some() {
        gather.keep(index, reasoning);
        return Ok(());
    }
    if !gather.keeps(index) {
        gather.keep(index, json!({ "text": "", "signature": "" }));
    }
    gather.think(reasoning.get("text").and_then(Value::as_str).unwrap_or_default());
    for field in ["text", "signature"] {
        gather.keep_more(index, field, reasoning.get(field).and_then(Value::as_str).unwrap_or_default());
    }
    Ok(())
}

/// `inputTokens` does not include cached tokens.
fn count(usage: Option<Usage>, gather: &mut Gather) {
    let Some(usage) = usage else { return };
    let counts = &mut gather.counts;
    counts.cached_input = tokens(usage.cache_read_input_tokens);
    counts.cache_write = tokens(usage.cache_write_input_tokens);
    let of_cache = counts.cached_input.unwrap_or(0) + counts.cache_write.unwrap_or(0);
    counts.input = tokens(usage.input_tokens).map(|plain| plain + of_cache);
    counts.output = tokens(usage.output_tokens);
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "guardrail_intervened" | "content_filtered" => Finish::Refused,
        _ => Finish::Other,
    }
}

/// The HTTP status that matches an exception in a stream. Events of other types may arrive at any time.
fn status(exception: &[u8]) -> Option<u16> {
    Some(match exception {
        b"validationException" => 400,
        b"modelTimeoutException" => 408,
        b"modelStreamErrorException" => 424,
        b"throttlingException" => 429,
        b"internalServerException" => 500,
        b"serviceUnavailableException" => 503,
        name if name.ends_with(b"Exception") => 500,
        _ => return None,
    })
}
