//! The mock's version of Anthropic's Messages API: `POST /v1/messages`.

use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::{
    FunctionCall, Message, MessageRole,
    chat::{Finish, Request},
    http::headers,
    mock::answer::Answer,
};

use super::{
    reply::Heading,
    spoken::{Asked, Refusal, Spoken, arguments, count, items, object, text, texts, tool, unknown},
};

const KNOWN: [&str; 23] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "stream",
    "tools",
    "tool_choice",
    "metadata",
    "thinking",
    "output_config",
    "service_tier",
    "cache_control",
    "container",
    "mcp_servers",
    "context_management",
    "inference_geo",
    "speed",
    "diagnostics",
    "user_profile_id",
];

/// Keywords of a schema that the API refuses.
const REFUSED: [&str; 10] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "pattern",
    "oneOf",
];

#[derive(Debug)]
pub(super) struct Anthropic;

impl Spoken for Anthropic {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        if !sent.contains_key("x-api-key") && !sent.contains_key(header::AUTHORIZATION) {
            return Err(Refusal::new(401, "x-api-key header is required"));
        }
        if !sent.contains_key("anthropic-version") {
            return Err(Refusal::bad("anthropic-version: header is required"));
        }
        let body = object(body)?;
        if let Some(key) = unknown(&body, &KNOWN) {
            return Err(Refusal::bad(format!("{key}: Extra inputs are not permitted")));
        }
        let missing = ["model", "messages", "max_tokens"].into_iter().find(|key| !body.contains_key(*key));
        if let Some(key) = missing {
            return Err(Refusal::bad(format!("{key}: Field required")));
        }
        let body = Value::Object(body);
        let model = text(&body, "model").to_owned();
        if model.contains("newest") && body.get("temperature").is_some() {
            return Err(Refusal::bad("`temperature` is deprecated for this model."));
        }
        let schema = body.pointer("/output_config/format/schema");
        if let Some(fault) = schema.and_then(fault) {
            return Err(Refusal::bad(format!("output_config.format.schema: {fault}")));
        }
        let tools = items(&body, "tools").iter();
        let request = Request {
            messages: messages(&body)?,
            max_tokens: count(body.get("max_tokens")),
            tools: tools
                .map(|tool_| tool(text(tool_, "name"), text(tool_, "description"), tool_.get("input_schema")))
                .collect(),
            schema: schema.cloned(),
            context: headers::read(sent),
            ..Request::default()
        };
        Ok(Asked { request, model, stream: body.get("stream") == Some(&json!(true)), wants_usage: true })
    }

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8> {
        let text =
            Some(&answer.text).filter(|text| !text.is_empty()).map(|text| json!({ "type": "text", "text": text }));
        let calls = answer.tool_calls.iter();
        let calls = calls.map(
            |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": arguments(&call.arguments) }),
        );
        let content: Vec<Value> = text.into_iter().chain(calls).collect();
        let message = message(heading, &content, Some(reason(answer.finish)), &usage(answer));
        message.to_string().into_bytes()
    }

    fn events(&self, heading: &Heading, answer: &Answer, _: bool) -> Vec<Vec<u8>> {
        let mut events: Vec<String> = texts(answer)
            .into_iter()
            .map(|text| {
                event("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": text } }))
            })
            .collect();
        let mut before = usage(answer);
        before["output_tokens"] = json!(1);
        let start = event("message_start", json!({ "message": message(heading, &[], None, &before) }))
            + &event("content_block_start", json!({ "index": 0, "content_block": { "type": "text", "text": "" } }))
            + &event("ping", json!({}));
        events[0].insert_str(0, &start);
        let end = events.last_mut().expect("there is one");
        end.push_str(&event("content_block_stop", json!({ "index": 0 })));
        for (index, call) in (1..).zip(&answer.tool_calls) {
            let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
            let delta = json!({ "type": "input_json_delta", "partial_json": call.arguments });
            end.push_str(&event("content_block_start", json!({ "index": index, "content_block": block })));
            end.push_str(&event("content_block_delta", json!({ "index": index, "delta": delta })));
            end.push_str(&event("content_block_stop", json!({ "index": index })));
        }
        let delta = json!({ "stop_reason": reason(answer.finish), "stop_sequence": null });
        end.push_str(&event(
            "message_delta",
            json!({ "delta": delta, "usage": { "output_tokens": answer.usage.output } }),
        ));
        end.push_str(&event("message_stop", json!({})));
        events.into_iter().map(String::into_bytes).collect()
    }

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8> {
        let kind = match status.as_u16() {
            400 => "invalid_request_error",
            401 => "authentication_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string().into_bytes()
    }
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn message(heading: &Heading, content: &[Value], reason: Option<&str>, usage: &Value) -> Value {
    json!({
        "id": format!("msg_{:016x}", heading.id), "type": "message", "role": "assistant", "model": heading.model,
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage,
    })
}

/// Without cached tokens, as the API counts them.
fn usage(answer: &Answer) -> Value {
    let usage = answer.usage;
    json!({
        "input_tokens": usage.input - usage.cached_input - usage.cache_write, "output_tokens": usage.output,
        "output_tokens_details": { "thinking_tokens": usage.reasoning },
        "cache_read_input_tokens": usage.cached_input, "cache_creation_input_tokens": usage.cache_write,
    })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::Refused => "refusal",
        Finish::Stop | Finish::Other => "end_turn",
    }
}

/// The part of a schema that the API refuses.
fn fault(schema: &Value) -> Option<String> {
    let Value::Object(object) = schema else { return None };
    if let Some(key) = object.keys().find(|key| REFUSED.contains(&key.as_str())) {
        return Some(format!("For '{}' type, property '{key}' is not supported", text(schema, "type")));
    }
    if text(schema, "type") == "object" && object.get("additionalProperties") != Some(&json!(false)) {
        return Some("For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned());
    }
    let parts = object.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    parts.chain(object.get("items")).chain(items(schema, "anyOf")).find_map(fault)
}

fn messages(body: &Value) -> Result<Vec<Message>, Refusal> {
    let written = items(body, "messages");
    let mut messages: Vec<Message> = match body.get("system") {
        Some(Value::String(text)) => vec![Message::system(text.as_str())],
        Some(Value::Array(blocks)) => blocks.iter().map(|block| Message::system(text(block, "text"))).collect(),
        _ => Vec::new(),
    };
    if written.first().is_none_or(|first| text(first, "role") != "user") {
        return Err(Refusal::bad("messages: first message must use the \"user\" role"));
    }
    for (place, message) in written.iter().enumerate() {
        let role = match text(message, "role") {
            "user" => MessageRole::User,
            "assistant" => MessageRole::Assistant,
            other => {
                return Err(Refusal::bad(format!(
                    "messages.{place}.role: Input should be 'user' or 'assistant', not '{other}'"
                )));
            }
        };
        let before = place.checked_sub(1).and_then(|before| written.get(before));
        let open: Vec<&str> = ids(before, "tool_use", "id");
        let answered = ids(Some(message), "tool_result", "tool_use_id");
        if let Some(id) = open.iter().find(|id| !answered.contains(id)) {
            return Err(Refusal::bad(format!(
                "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
            )));
        }
        if let Some(id) = answered.iter().find(|id| !open.contains(id)) {
            return Err(Refusal::bad(format!(
                "messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
            )));
        }
        messages.extend(read(message, role, place)?);
    }
    if let Some(id) = ids(written.last(), "tool_use", "id").first() {
        return Err(Refusal::bad(format!(
            "messages: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
        )));
    }
    Ok(messages)
}

fn ids<'a>(message: Option<&'a Value>, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = message.map_or(&[][..], |message| items(message, "content"));
    blocks.iter().filter(|block| text(block, "type") == kind).map(|block| text(block, key)).collect()
}

fn read(message: &Value, role: MessageRole, place: usize) -> Result<Vec<Message>, Refusal> {
    if let Some(content) = message.get("content").and_then(Value::as_str) {
        return Ok(vec![Message::new(role, content)]);
    }
    let mut said = Message::new(role, "");
    let mut messages = Vec::new();
    for block in items(message, "content") {
        match text(block, "type") {
            "text" if text(block, "text").trim().is_empty() => {
                return Err(Refusal::bad("messages: text content blocks must be non-empty"));
            }
            "text" => said.content.push_str(text(block, "text")),
            "image" => said.images.push("image".to_owned()),
            "tool_use" => said.tool_calls.push(FunctionCall {
                id: text(block, "id").to_owned(),
                name: text(block, "name").to_owned(),
                arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
            }),
            "tool_result" => messages.push(Message {
                tool_call_id: Some(text(block, "tool_use_id").to_owned()),
                ..Message::new(MessageRole::Tool, text(block, "content"))
            }),
            "thinking" | "redacted_thinking" => {}
            other => return Err(Refusal::bad(format!("messages.{place}.content: Input tag '{other}' found"))),
        }
    }
    if !said.content.is_empty() || !said.images.is_empty() || !said.tool_calls.is_empty() {
        messages.push(said);
    }
    Ok(messages)
}
