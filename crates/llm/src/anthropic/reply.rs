//! A message as Anthropic writes it: whole, or as the events of a stream.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    chat::Finish,
    gather::{Gather, Piece, Trouble, tokens},
};

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    model: String,
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

/// A block, or an addition to one: the fields of its type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    text: Option<String>,
    id: String,
    name: String,
    input: Option<Value>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
}

/// Counted so far, not since the last event.
#[derive(Debug, Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

/// Of the output tokens.
#[derive(Debug, Deserialize)]
struct Details {
    thinking_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Event {
    r#type: String,
    message: Option<Message>,
    #[serde(default)]
    index: u64,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    stop_reason: Option<String>,
    #[serde(flatten)]
    block: Block,
}

pub(super) fn whole(body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
    let message: Message = read(body)?;
    begin(message, gather)
}

/// Returns whether it is the last event of the stream. Events of other types may arrive at any time.
pub(super) fn event(data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
    let event: Event = read(data)?;
    match event.r#type.as_str() {
        "message_start" => {
            let message = event.message.ok_or_else(|| Trouble::Malformed("message_start without a message".into()))?;
            begin(message, gather)?;
        }
        "content_block_start" => {
            if let Some(block) = event.content_block {
                open(event.index, block, false, gather)?;
            }
        }
        "content_block_stop" => gather.complete_call(event.index),
        "content_block_delta" => {
            if let Some(delta) = event.delta {
                extend(event.index, delta.block, gather)?;
            }
        }
        "message_delta" => {
            count(event.usage, gather);
            if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                gather.end(finish(&reason));
            }
        }
        "message_stop" => return Ok(true),
        "error" => return Err(error(event.error.unwrap_or_default())),
        _ => {}
    }
    Ok(false)
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Trouble> {
    serde_json::from_slice(bytes).map_err(|error| Trouble::Malformed(error.to_string()))
}

/// In a stream the message has no content yet.
fn begin(message: Message, gather: &mut Gather) -> Result<(), Trouble> {
    gather.begin();
    gather.name_model(&message.model);
    count(message.usage, gather);
    for (index, block) in (0..).zip(message.content) {
        open(index, block, true, gather)?;
    }
    if let Some(reason) = message.stop_reason {
        gather.end(finish(&reason));
    }
    Ok(())
}

fn open(index: u64, block: Block, is_whole: bool, gather: &mut Gather) -> Result<(), Trouble> {
    match block.r#type.as_str() {
        "text" => gather.say(&block.text.unwrap_or_default()),
        "tool_use" => {
            // Of a stream the input is empty here, and its text comes in deltas.
            let input = block.input.filter(|_| is_whole).map(|input| input.to_string()).unwrap_or_default();
            gather.call(&Piece { index: Some(index), id: &block.id, name: &block.name, arguments: &input })?;
            if is_whole {
                gather.complete_call(index);
            }
        }
        "thinking" => {
            let (thinking, signature) = (block.thinking.unwrap_or_default(), block.signature.unwrap_or_default());
            gather.think(&thinking);
            gather.keep(index, json!({ "type": "thinking", "thinking": thinking, "signature": signature }));
        }
        "redacted_thinking" => {
            gather.keep(index, json!({ "type": "redacted_thinking", "data": block.data.unwrap_or_default() }));
        }
        _ => {}
    }
    Ok(())
}

fn extend(index: u64, delta: Block, gather: &mut Gather) -> Result<(), Trouble> {
    match delta.r#type.as_str() {
        "text_delta" => gather.say(&delta.text.unwrap_or_default()),
        "input_json_delta" => {
            let arguments = delta.partial_json.unwrap_or_default();
            gather.call(&Piece { index: Some(index), arguments: &arguments, ..Piece::default() })?;
        }
        "thinking_delta" => {
            let thinking = delta.thinking.unwrap_or_default();
            gather.think(&thinking);
            gather.keep_more(index, "thinking", &thinking);
        }
        "signature_delta" => gather.keep_more(index, "signature", &delta.signature.unwrap_or_default()),
        _ => {}
    }
    Ok(())
}

/// `input_tokens` does not include cached tokens.
fn count(usage: Option<Usage>, gather: &mut Gather) {
    let Some(usage) = usage else { return };
    let counts = &mut gather.counts;
    counts.output = tokens(usage.output_tokens).or(counts.output);
    let thinking = usage.output_tokens_details.and_then(|details| details.thinking_tokens);
    counts.reasoning = tokens(thinking).or(counts.reasoning);
    counts.cache_write = tokens(usage.cache_creation_input_tokens).or(counts.cache_write);
    counts.cached_input = tokens(usage.cache_read_input_tokens).or(counts.cached_input);
    if let Some(plain) = tokens(usage.input_tokens) {
        counts.input = Some(plain + counts.cache_write.unwrap_or(0) + counts.cached_input.unwrap_or(0));
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => Finish::Refused,
        _ => Finish::Other,
    }
}

/// The error has the status that it would have had instead of the stream.
fn error(error: Value) -> Trouble {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let status = match text("type") {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    Trouble::Status(status, format!("{}: {}", text("type"), text("message")))
}
