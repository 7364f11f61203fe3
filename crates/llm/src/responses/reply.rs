//! A response as OpenAI writes it: whole, or as the events of a stream.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    chat::Finish,
    gather::{Gather, Piece, Trouble, tokens},
    http::rejection::Fault,
};

#[derive(Debug, Deserialize)]
struct Response {
    #[serde(default)]
    model: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    output: Vec<Value>,
    incomplete_details: Option<Incomplete>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Event {
    r#type: String,
    response: Option<Response>,
    #[serde(default)]
    output_index: u64,
    item: Option<Value>,
    #[serde(default)]
    delta: Value,
}

pub(super) fn whole(body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
    let response: Response = read(body)?;
    end(response, true, gather)
}

/// Returns whether it is the last event of the stream. Events of other types repeat later.
pub(super) fn event(data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
    let event: Event = read(data)?;
    match event.r#type.as_str() {
        "response.created" | "response.in_progress" => {
            gather.begin();
            gather.name_model(&event.response.map(|response| response.model).unwrap_or_default());
        }
        "response.output_text.delta" | "response.refusal.delta" => {
            gather.say(event.delta.as_str().unwrap_or_default());
            if event.r#type == "response.refusal.delta" {
                gather.refuse();
            }
        }
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            gather.think(event.delta.as_str().unwrap_or_default());
        }
        "response.output_item.added" => {
            let item = event.item.unwrap_or_default();
            if text(&item, "type") == "function_call" {
                call(event.output_index, &item, "", gather)?;
            }
        }
        "response.function_call_arguments.delta" => {
            let arguments = event.delta.as_str().unwrap_or_default();
            gather.call(&Piece { index: Some(event.output_index), arguments, ..Piece::default() })?;
        }
        "response.output_item.done" => {
            let item = event.item.unwrap_or_default();
            if text(&item, "type") == "reasoning" {
                gather.keep(event.output_index, item);
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = event.response.ok_or_else(|| Trouble::Malformed("an end without a response".to_owned()))?;
            end(response, false, gather)?;
            return Ok(true);
        }
        "error" => {
            let error: Value = read(data)?;
            return Err(fault(error.get("error").unwrap_or(&error)));
        }
        _ => {}
    }
    Ok(false)
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Trouble> {
    serde_json::from_slice(bytes).map_err(|error| Trouble::Malformed(error.to_string()))
}

/// Takes the response. Takes its output only if no stream has delivered it before.
fn end(response: Response, with_output: bool, gather: &mut Gather) -> Result<(), Trouble> {
    if let Some(error) = response.error.filter(|error| !error.is_null()) {
        return Err(fault(&error));
    }
    if response.status.is_empty() {
        return Err(Trouble::Malformed("no response in it".to_owned()));
    }
    gather.begin();
    gather.name_model(&response.model);
    count(response.usage, gather);
    if with_output {
        for (index, item) in (0..).zip(&response.output) {
            hear(index, item, gather)?;
        }
    }
    let reason = response.incomplete_details.map(|details| details.reason).unwrap_or_default();
    let finish = match (response.status.as_str(), reason.as_str()) {
        ("incomplete", "max_output_tokens") => Finish::Length,
        ("incomplete", "content_filter") => Finish::Refused,
        ("completed", _) if gather.calls_count() > 0 => Finish::ToolCalls,
        ("completed", _) => Finish::Stop,
        _ => Finish::Other,
    };
    gather.end(finish);
    Ok(())
}

fn hear(index: u64, item: &Value, gather: &mut Gather) -> Result<(), Trouble> {
    match text(item, "type") {
        "message" => {
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                match text(part, "type") {
                    "output_text" => gather.say(text(part, "text")),
                    "refusal" => {
                        gather.say(text(part, "refusal"));
                        gather.refuse();
                    }
                    _ => {}
                }
            }
        }
        "function_call" => call(index, item, text(item, "arguments"), gather)?,
        "reasoning" => {
            let parts = ["summary", "content"].into_iter().filter_map(|key| item.get(key)?.as_array()).flatten();
            parts.for_each(|part| gather.think(text(part, "text")));
            gather.keep(index, item.clone());
        }
        _ => {}
    }
    Ok(())
}

fn call(index: u64, item: &Value, arguments: &str, gather: &mut Gather) -> Result<(), Trouble> {
    gather.call(&Piece { index: Some(index), id: text(item, "call_id"), name: text(item, "name"), arguments })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Cache reads and writes are part of the input, and reasoning is part of the output.
fn count(usage: Option<Usage>, gather: &mut Gather) {
    let Some(usage) = usage else { return };
    let counts = &mut gather.counts;
    counts.input = tokens(usage.input_tokens).or(counts.input);
    counts.output = tokens(usage.output_tokens).or(counts.output);
    if let Some(details) = usage.input_tokens_details {
        counts.cached_input = tokens(details.cached_tokens);
        counts.cache_write = tokens(details.cache_write_tokens);
    }
    if let Some(details) = usage.output_tokens_details {
        counts.reasoning = tokens(details.reasoning_tokens);
    }
}

/// An error of a response that began with success, with the status that it has elsewhere.
fn fault(error: &Value) -> Trouble {
    let code = error.get("code").and_then(Value::as_str).unwrap_or_default();
    let Fault { message, no_money, .. } = Fault::of(error);
    if no_money {
        return Trouble::Exhausted(message);
    }
    let status = match code {
        "rate_limit_exceeded" => 429,
        "server_error" | "" => 500,
        _ => 400,
    };
    Trouble::Status(status, message)
}
