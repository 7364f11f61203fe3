//! The mock's version of OpenAI's Responses API: `POST /v1/responses`.

use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    FunctionCall, Message, MessageRole,
    chat::{Finish, Request},
    http::headers,
    mock::answer::Answer,
};

use super::{
    reply::{self, Heading},
    spoken::{Asked, Refusal, Spoken, count, items, object, text, texts, tool, unknown},
};

const KNOWN: [&str; 22] = [
    "model",
    "input",
    "instructions",
    "max_output_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "include",
    "store",
    "stream",
    "stream_options",
    "metadata",
    "user",
    "truncation",
    "parallel_tool_calls",
    "previous_response_id",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
];

/// The shortest limit that the API takes.
const LEAST_TOKENS: u32 = 16;

#[derive(Debug)]
pub(super) struct Responses;

impl Spoken for Responses {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        if !sent.contains_key(header::AUTHORIZATION) {
            return Err(Refusal::new(401, "You didn't provide an API key."));
        }
        let body = object(body)?;
        if let Some(key) = unknown(&body, &KNOWN) {
            return Err(Refusal::bad(format!("Unknown parameter: '{key}'.")));
        }
        if !body.contains_key("input") {
            return Err(Refusal::bad("Missing required parameter: 'input'."));
        }
        let body = Value::Object(body);
        let model = text(&body, "model").to_owned();
        let reasons = model.starts_with('o') || model.starts_with("gpt-5");
        if reasons && body.get("temperature").is_some() {
            return Err(Refusal::bad("Unsupported parameter: 'temperature' is not supported with this model."));
        }
        let max_tokens = count(body.get("max_output_tokens"));
        if max_tokens.is_some_and(|most| most < LEAST_TOKENS) {
            return Err(Refusal::bad(format!(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST_TOKENS}."
            )));
        }
        let tools = items(&body, "tools").iter();
        let request = Request {
            messages: messages(&body)?,
            max_tokens,
            tools: tools.map(|one| tool(text(one, "name"), text(one, "description"), one.get("parameters"))).collect(),
            schema: body.pointer("/text/format/schema").cloned(),
            context: headers::read(sent),
            ..Request::default()
        };
        Ok(Asked { request, model, stream: body.get("stream") == Some(&json!(true)), wants_usage: true })
    }

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8> {
        response(heading, answer).to_string().into_bytes()
    }

    fn events(&self, heading: &Heading, answer: &Answer, _: bool) -> Vec<Vec<u8>> {
        let mut events: Vec<String> = texts(answer)
            .into_iter()
            .map(|text| {
                event("response.output_text.delta", json!({ "output_index": 0, "content_index": 0, "delta": text }))
            })
            .collect();
        let mut begun = json!({ "id": name(heading), "object": "response", "model": heading.model });
        begun["status"] = json!("in_progress");
        let item = json!({ "type": "message", "role": "assistant", "content": [] });
        let start = event("response.created", json!({ "response": begun }))
            + &event("response.output_item.added", json!({ "output_index": 0, "item": item }));
        events[0].insert_str(0, &start);
        let end = events.last_mut().expect("there is one");
        for (index, call) in (1..).zip(&answer.tool_calls) {
            let item = |arguments: &str| json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments });
            let delta = json!({ "output_index": index, "delta": call.arguments });
            end.push_str(&event("response.output_item.added", json!({ "output_index": index, "item": item("") })));
            end.push_str(&event("response.function_call_arguments.delta", delta));
            end.push_str(&event(
                "response.output_item.done",
                json!({ "output_index": index, "item": item(&call.arguments) }),
            ));
        }
        let response = response(heading, answer);
        let kind = if answer.finish == Finish::Length { "response.incomplete" } else { "response.completed" };
        end.push_str(&event(kind, json!({ "response": response })));
        events.into_iter().map(String::into_bytes).collect()
    }

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8> {
        let kind = match status.as_u16() {
            429 => "rate_limit_exceeded",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        reply::error(message, kind)
    }
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn name(heading: &Heading) -> String {
    format!("resp_{:016x}", heading.id)
}

fn response(heading: &Heading, answer: &Answer) -> Value {
    let content = json!([{ "type": "output_text", "text": answer.text, "annotations": [] }]);
    let message = Some(json!({ "type": "message", "role": "assistant", "content": content }));
    let calls = answer.tool_calls.iter().map(
        |call| json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments }),
    );
    let output: Vec<Value> = message.filter(|_| !answer.text.is_empty()).into_iter().chain(calls).collect();
    let usage = answer.usage;
    let cut = answer.finish == Finish::Length;
    json!({
        "id": name(heading), "object": "response", "model": heading.model, "output": output, "error": null,
        "status": if cut { "incomplete" } else { "completed" },
        "incomplete_details": if cut { json!({ "reason": "max_output_tokens" }) } else { Value::Null },
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached_input, "cache_write_tokens": usage.cache_write },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input + usage.output,
        },
    })
}

fn messages(body: &Value) -> Result<Vec<Message>, Refusal> {
    let mut messages: Vec<Message> =
        body.get("instructions").and_then(Value::as_str).map(Message::system).into_iter().collect();
    if let Some(input) = body.get("input").and_then(Value::as_str) {
        messages.push(Message::user(input));
        return Ok(messages);
    }
    let items = items(body, "input");
    for item in items {
        let id = text(item, "call_id");
        let has = |kind: &str| items.iter().any(|item| text(item, "type") == kind && text(item, "call_id") == id);
        match text(item, "type") {
            "function_call" if !has("function_call_output") => {
                return Err(Refusal::bad(format!("No tool output found for function call {id}.")));
            }
            "function_call" => {
                let (name, arguments) = (text(item, "name").to_owned(), text(item, "arguments").to_owned());
                let call = FunctionCall { id: id.to_owned(), name, arguments };
                messages.push(Message { tool_calls: vec![call], ..Message::assistant("") });
            }
            "function_call_output" if !has("function_call") => {
                return Err(Refusal::bad(format!("No tool call found for function call output with call_id {id}.")));
            }
            "function_call_output" => messages.push(Message {
                tool_call_id: Some(id.to_owned()),
                ..Message::new(MessageRole::Tool, text(item, "output"))
            }),
            "reasoning" => {}
            "" | "message" => messages.push(message(item)?),
            other => return Err(Refusal::bad(format!("Invalid value: '{other}'."))),
        }
    }
    Ok(messages)
}

fn message(item: &Value) -> Result<Message, Refusal> {
    let role = match text(item, "role") {
        "system" | "developer" => MessageRole::System,
        "user" => MessageRole::User,
        "assistant" => MessageRole::Assistant,
        other => {
            return Err(Refusal::bad(format!(
                "Invalid value: '{other}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
            )));
        }
    };
    let mut message = Message::new(role, text(item, "content"));
    for part in items(item, "content") {
        message.content.push_str(text(part, "text"));
        if text(part, "type") == "input_image" {
            message.images.push(text(part, "image_url").to_owned());
        }
    }
    Ok(message)
}
