//! The mock's version of Amazon Bedrock's Converse API: `POST /model/MODEL/converse`.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    FunctionCall, Message, MessageRole,
    chat::{Finish, Request},
    http::{eventstream, frames::AMAZON, headers},
    mock::answer::Answer,
};

use super::{
    reply::Heading,
    spoken::{Asked, Refusal, Spoken, arguments, count, items, object, text, texts, tool, unknown},
};

const KNOWN: [&str; 11] = [
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "promptVariables",
    "requestMetadata",
    "performanceConfig",
    "outputConfig",
];
const KNOWN_CONFIG: [&str; 4] = ["maxTokens", "temperature", "topP", "stopSequences"];

/// The model and the method are in the address.
#[derive(Debug)]
pub(super) struct Bedrock {
    pub(super) model: String,
    pub(super) stream: bool,
}

impl Spoken for Bedrock {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        if !sent.contains_key(header::AUTHORIZATION) {
            return Err(Refusal::new(403, "Missing Authentication Token"));
        }
        let body = object(body)?;
        let config = body.get("inferenceConfig").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(key) = unknown(&body, &KNOWN).or_else(|| unknown(&config, &KNOWN_CONFIG)) {
            return Err(Refusal::bad(format!("Unrecognized field \"{key}\": unexpected")));
        }
        let body = Value::Object(body);
        let tools = body.get("toolConfig").map_or(&[][..], |config| items(config, "tools"));
        let specs = tools.iter().filter_map(|tool| tool.get("toolSpec"));
        let schema = body.pointer("/outputConfig/textFormat/structure/jsonSchema/schema").and_then(Value::as_str);
        let request = Request {
            messages: messages(&body, !tools.is_empty())?,
            max_tokens: count(config.get("maxTokens")),
            tools: specs
                .map(|spec| tool(text(spec, "name"), text(spec, "description"), spec.pointer("/inputSchema/json")))
                .collect(),
            schema: schema.and_then(|schema| serde_json::from_str(schema).ok()),
            context: headers::read(sent),
            ..Request::default()
        };
        Ok(Asked { request, model: self.model.clone(), stream: self.stream, wants_usage: true })
    }

    fn whole(&self, _: &Heading, answer: &Answer) -> Vec<u8> {
        let text = Some(&answer.text).filter(|text| !text.is_empty()).map(|text| json!({ "text": text }));
        let calls = answer.tool_calls.iter().map(|call| {
            json!({ "toolUse": { "toolUseId": call.id, "name": call.name, "input": arguments(&call.arguments) } })
        });
        let content: Vec<Value> = text.into_iter().chain(calls).collect();
        json!({
            "output": { "message": { "role": "assistant", "content": content } }, "stopReason": reason(answer.finish),
            "usage": usage(answer), "metrics": { "latencyMs": 0 },
        })
        .to_string()
        .into_bytes()
    }

    fn events(&self, _: &Heading, answer: &Answer, _: bool) -> Vec<Vec<u8>> {
        let delta =
            |text: &str| event("contentBlockDelta", &json!({ "contentBlockIndex": 0, "delta": { "text": text } }));
        let mut events: Vec<Vec<u8>> = texts(answer).into_iter().map(delta).collect();
        events[0].splice(0..0, event("messageStart", &json!({ "role": "assistant" })));
        let end = events.last_mut().expect("there is one");
        end.extend(event("contentBlockStop", &json!({ "contentBlockIndex": 0 })));
        for (index, call) in (1..).zip(&answer.tool_calls) {
            let start = json!({ "toolUse": { "toolUseId": call.id, "name": call.name } });
            let delta = json!({ "toolUse": { "input": call.arguments } });
            end.extend(event("contentBlockStart", &json!({ "contentBlockIndex": index, "start": start })));
            end.extend(event("contentBlockDelta", &json!({ "contentBlockIndex": index, "delta": delta })));
            end.extend(event("contentBlockStop", &json!({ "contentBlockIndex": index })));
        }
        end.extend(event("messageStop", &json!({ "stopReason": reason(answer.finish) })));
        end.extend(event("metadata", &json!({ "usage": usage(answer), "metrics": { "latencyMs": 0 } })));
        events
    }

    fn error(&self, _: StatusCode, message: &str) -> Vec<u8> {
        json!({ "message": message }).to_string().into_bytes()
    }

    fn stream_type(&self) -> HeaderValue {
        HeaderValue::from_static(AMAZON)
    }
}

fn event(kind: &str, data: &Value) -> Vec<u8> {
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    eventstream::message(&headers, data.to_string().as_bytes())
}

/// Without cached tokens, as the API counts them.
fn usage(answer: &Answer) -> Value {
    let usage = answer.usage;
    json!({
        "inputTokens": usage.input - usage.cached_input - usage.cache_write, "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cached_input, "cacheWriteInputTokens": usage.cache_write,
        "totalTokens": usage.input + usage.output,
    })
}

fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::Refused => "content_filtered",
        Finish::Stop | Finish::Other => "end_turn",
    }
}

fn messages(body: &Value, has_tools: bool) -> Result<Vec<Message>, Refusal> {
    let mut messages: Vec<Message> =
        items(body, "system").iter().map(|block| Message::system(text(block, "text"))).collect();
    let mut last = "assistant";
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in items(body, "messages").iter().enumerate() {
        let role = text(message, "role");
        if place == 0 && role != "user" {
            return Err(Refusal::bad("A conversation must start with a user message."));
        }
        if role == last {
            return Err(Refusal::bad("A conversation must alternate between user and assistant roles."));
        }
        last = role;
        let blocks = items(message, "content");
        let blank =
            |block: &&Value| block.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
        if blocks.is_empty() || blocks.iter().any(|block| blank(&block)) {
            return Err(Refusal::bad(format!(
                "The text field in the ContentBlock object at messages.{place}.content is blank."
            )));
        }
        let results: Vec<&str> = ids(blocks, "toolResult");
        if let Some(id) = open.iter().find(|id| !results.contains(id)) {
            return Err(Refusal::bad(format!(
                "Expected toolResult blocks at messages.{place}.content for the following Ids: {id}"
            )));
        }
        open = ids(blocks, "toolUse");
        let calls_tools = !open.is_empty() || !results.is_empty();
        if calls_tools && !has_tools {
            return Err(Refusal::bad(
                "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
            ));
        }
        let role = if role == "user" { MessageRole::User } else { MessageRole::Assistant };
        messages.extend(read(blocks, role));
    }
    if last == "assistant" {
        return Err(Refusal::bad("A conversation must end with a user message."));
    }
    Ok(messages)
}

fn ids<'a>(blocks: &'a [Value], kind: &str) -> Vec<&'a str> {
    blocks.iter().filter_map(|block| block.get(kind)).map(|block| text(block, "toolUseId")).collect()
}

fn read(blocks: &[Value], role: MessageRole) -> Vec<Message> {
    let mut said = Message::new(role, "");
    let mut messages = Vec::new();
    for block in blocks {
        said.content.push_str(text(block, "text"));
        if block.get("image").is_some() {
            said.images.push("image".to_owned());
        }
        if let Some(call) = block.get("toolUse") {
            let arguments = call.get("input").map(Value::to_string).unwrap_or_default();
            let (id, name) = (text(call, "toolUseId").to_owned(), text(call, "name").to_owned());
            said.tool_calls.push(FunctionCall { id, name, arguments });
        }
        if let Some(result) = block.get("toolResult") {
            let content: String = items(result, "content").iter().map(|part| text(part, "text")).collect();
            let id = Some(text(result, "toolUseId").to_owned());
            messages.push(Message { tool_call_id: id, ..Message::new(MessageRole::Tool, content) });
        }
    }
    if !said.content.is_empty() || !said.images.is_empty() || !said.tool_calls.is_empty() {
        messages.push(said);
    }
    messages
}
