//! The mock's version of Google's Gemini API: `POST /v1beta/models/MODEL:generateContent`.

use axum::http::{HeaderMap, StatusCode};
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

const KNOWN: [&str; 8] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
];
const KNOWN_CONFIG: [&str; 17] = [
    "temperature",
    "topP",
    "topK",
    "candidateCount",
    "maxOutputTokens",
    "stopSequences",
    "seed",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "thinkingConfig",
    "responseModalities",
    "mediaResolution",
];

/// The signature of a call, which the client must send back.
const SIGNATURE: &str = "c2lnbmF0dXJl";

/// The model and the method are in the address.
#[derive(Debug)]
pub(super) struct Gemini {
    pub(super) model: String,
    pub(super) stream: bool,
    /// The query may hold the key too.
    pub(super) has_key: bool,
}

impl Spoken for Gemini {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        if !self.has_key && !sent.contains_key("x-goog-api-key") {
            return Err(Refusal::new(403, "Method doesn't allow unregistered callers. Please use API Key."));
        }
        let body = object(body)?;
        let config = body.get("generationConfig").and_then(Value::as_object).cloned().unwrap_or_default();
        let no_field = |name: &str, at: &str| {
            Refusal::bad(format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field."))
        };
        if let Some(key) = unknown(&body, &KNOWN) {
            return Err(no_field(key, ""));
        }
        if let Some(key) = unknown(&config, &KNOWN_CONFIG) {
            return Err(no_field(key, " at 'generation_config'"));
        }
        if config.get("seed").is_some_and(|seed| seed.as_i64().is_none_or(|seed| i32::try_from(seed).is_err())) {
            return Err(Refusal::bad("Invalid value at 'generation_config.seed' (TYPE_INT32)"));
        }
        let schema = config.get("responseJsonSchema").cloned();
        if schema.is_some() && config.get("responseMimeType") != Some(&json!("application/json")) {
            return Err(Refusal::bad("responseJsonSchema is only allowed with responseMimeType application/json"));
        }
        let body = Value::Object(body);
        let declared = items(&body, "tools").iter().flat_map(|tools| items(tools, "functionDeclarations"));
        let request = Request {
            messages: messages(&body, self.model.contains("3"))?,
            max_tokens: count(config.get("maxOutputTokens")),
            seed: config.get("seed").and_then(Value::as_u64),
            tools: declared
                .map(|one| {
                    tool(
                        text(one, "name"),
                        text(one, "description"),
                        one.get("parametersJsonSchema").or_else(|| one.get("parameters_json_schema")),
                    )
                })
                .collect(),
            schema,
            context: headers::read(sent),
            ..Request::default()
        };
        Ok(Asked { request, model: self.model.clone(), stream: self.stream, wants_usage: true })
    }

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8> {
        let text = Some(&answer.text).filter(|text| !text.is_empty()).map(|text| json!({ "text": text }));
        let parts: Vec<Value> = text.into_iter().chain(calls(answer)).collect();
        let whole = chunk(heading, &parts, Some(answer));
        whole.to_string().into_bytes()
    }

    fn events(&self, heading: &Heading, answer: &Answer, _: bool) -> Vec<Vec<u8>> {
        let texts = texts(answer);
        let last = texts.len() - 1;
        let events = texts.into_iter().enumerate().map(|(place, text)| {
            let mut parts = vec![json!({ "text": text })];
            if place == last {
                parts.extend(calls(answer));
            }
            let chunk = chunk(heading, &parts, (place == last).then_some(answer));
            format!("data: {chunk}\r\n\r\n").into_bytes()
        });
        events.collect()
    }

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8> {
        let name = match status.as_u16() {
            400 => "INVALID_ARGUMENT",
            403 => "PERMISSION_DENIED",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        let error = json!({ "code": status.as_u16(), "message": message, "status": name });
        json!({ "error": error }).to_string().into_bytes()
    }
}

fn calls(answer: &Answer) -> impl Iterator<Item = Value> {
    answer.tool_calls.iter().map(|call| {
        let call = json!({ "id": call.id, "name": call.name, "args": arguments(&call.arguments) });
        json!({ "functionCall": call, "thoughtSignature": SIGNATURE })
    })
}

/// With the answer it is the last one.
fn chunk(heading: &Heading, parts: &[Value], last: Option<&Answer>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    let mut chunk =
        json!({ "candidates": [], "modelVersion": heading.model, "responseId": format!("{:016x}", heading.id) });
    if let Some(answer) = last {
        let reason = match answer.finish {
            Finish::Length => "MAX_TOKENS",
            Finish::Refused => "SAFETY",
            _ => "STOP",
        };
        candidate["finishReason"] = json!(reason);
        let usage = answer.usage;
        // Thoughts are not included in the count of the candidates.
        chunk["usageMetadata"] = json!({
            "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached_input,
            "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.input + usage.output,
        });
    }
    chunk["candidates"] = json!([candidate]);
    chunk
}

fn messages(body: &Value, signed: bool) -> Result<Vec<Message>, Refusal> {
    let contents = items(body, "contents");
    let system = body.get("systemInstruction").map_or(&[][..], |system| items(system, "parts"));
    let mut messages: Vec<Message> = system.iter().map(|part| Message::system(text(part, "text"))).collect();
    if contents.is_empty() {
        return Err(Refusal::bad("contents is not specified"));
    }
    // Parts before the user's last message are not checked.
    let turn = contents.iter().rposition(|content| {
        items(content, "parts").iter().any(|part| part.get("text").is_some()) && text(content, "role") == "user"
    });
    let mut open = 0;
    for (place, content) in contents.iter().enumerate() {
        let parts = items(content, "parts");
        let role = match text(content, "role") {
            "user" => MessageRole::User,
            "model" => MessageRole::Assistant,
            _ => return Err(Refusal::bad("Please use a valid role: user, model.")),
        };
        if parts.is_empty() {
            return Err(Refusal::bad("contents.parts must not be empty."));
        }
        let with = |key: &str| parts.iter().filter(|part| part.get(key).is_some()).count();
        if with("functionResponse") != open {
            return Err(Refusal::bad(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
            ));
        }
        open = with("functionCall");
        if open > 0 && role == MessageRole::User {
            return Err(Refusal::bad("Please ensure that function call turns come from the model."));
        }
        let is_signed = parts.iter().any(|part| part.get("thoughtSignature").is_some());
        if signed && open > 0 && !is_signed && turn.is_none_or(|turn| place > turn) {
            return Err(Refusal::bad("Function call is missing a thought_signature in functionCall parts."));
        }
        messages.extend(read(parts, role));
    }
    if open > 0 {
        return Err(Refusal::bad("Please ensure that the last turn is one of the user."));
    }
    Ok(messages)
}

fn read(parts: &[Value], role: MessageRole) -> Vec<Message> {
    let mut said = Message::new(role, "");
    let mut messages = Vec::new();
    for part in parts {
        if part.get("thought") != Some(&json!(true)) {
            said.content.push_str(text(part, "text"));
        }
        if part.get("inlineData").is_some() || part.get("fileData").is_some() {
            said.images.push("image".to_owned());
        }
        if let Some(call) = part.get("functionCall") {
            let arguments = call.get("args").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            let name = text(call, "name").to_owned();
            said.tool_calls.push(FunctionCall { id: name.clone(), name, arguments: arguments.to_string() });
        }
        if let Some(response) = part.get("functionResponse") {
            let result = response.get("response").map(Value::to_string).unwrap_or_default();
            let id = Some(text(response, "name").to_owned());
            messages.push(Message { tool_call_id: id, ..Message::new(MessageRole::Tool, result) });
        }
    }
    if !said.content.is_empty() || !said.images.is_empty() || !said.tool_calls.is_empty() {
        messages.push(said);
    }
    messages
}
