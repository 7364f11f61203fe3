//! The body of a call: contents of user and model, the system instruction, and `generationConfig`.

use serde_json::{Map, Value, json};

use crate::{
    chat::Request,
    dialect::{
        self, Manner, SchemaMode,
        turns::{Image, Part, Side, Turn, Turns, arguments, tool},
    },
};

pub(super) fn body(request: &Request, manner: Manner<'_>) -> Map<String, Value> {
    let Turns { system, turns } = Turns::of(&request.messages);
    let mut body = Map::new();
    if !system.is_empty() {
        let parts: Vec<Value> = system.into_iter().map(|text| json!({ "text": text })).collect();
        body.insert("systemInstruction".to_owned(), json!({ "parts": parts }));
    }
    body.insert("contents".to_owned(), turns.iter().map(content).collect());
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": declarations }]));
    }
    let config = config(request, manner.schema_mode);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    dialect::add(&mut body, request, manner.params);
    body
}

fn config(request: &Request, schema_mode: SchemaMode) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(temperature) = request.temperature {
        config.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(max_tokens) = request.max_tokens {
        config.insert("maxOutputTokens".to_owned(), max_tokens.into());
    }
    if let Some(seed) = request.seed {
        config.insert("seed".to_owned(), wire_seed(seed).into());
    }
    if let Some(schema) = &request.schema {
        if schema_mode.sends_schema() || schema_mode == SchemaMode::JsonObject {
            config.insert("responseMimeType".to_owned(), "application/json".into());
        }
        if schema_mode.sends_schema() {
            config.insert("responseJsonSchema".to_owned(), schema.clone());
        }
    }
    config
}

/// The API reads the seed into a signed number of 32 bits and refuses larger ones.
fn wire_seed(seed: u64) -> u64 {
    seed & u64::from(u32::MAX >> 1)
}

fn content(turn: &Turn<'_>) -> Value {
    let role = match turn.by {
        Side::User => "user",
        Side::Model => "model",
    };
    // The model's own parts go back unchanged, because its calls carry signatures that the API checks.
    let echo = turn.parts.iter().any(|part| matches!(part, Part::Echo(_)));
    let parts = turn.parts.iter().filter(|part| !echo || !matches!(part, Part::Text(_) | Part::Call(_)));
    json!({ "role": role, "parts": parts.flat_map(parts_of).collect::<Vec<_>>() })
}

fn parts_of(part: &Part<'_>) -> Vec<Value> {
    let written = match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image(Image::Inline { media_type, base64 }) => {
            json!({ "inlineData": { "mimeType": media_type, "data": base64 } })
        }
        Part::Image(Image::Address(url)) => json!({ "fileData": { "mimeType": media_type(url), "fileUri": url } }),
        Part::Call(call) => json!({ "functionCall": { "name": call.name, "args": arguments(call) } }),
        Part::Result { name, text, .. } => {
            json!({ "functionResponse": { "name": name, "response": response(text) } })
        }
        Part::Echo(Value::Array(parts)) => return parts.clone(),
        Part::Echo(_) => return Vec::new(),
    };
    vec![written]
}

/// The API requires an object.
fn response(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => json!({ "result": text }),
    }
}

/// By the ending of the address; the API requires a type.
fn media_type(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let known = [(".png", "image/png"), (".webp", "image/webp"), (".gif", "image/gif"), (".heic", "image/heic")];
    known.into_iter().find(|(ending, _)| path.ends_with(ending)).map_or("image/jpeg", |(_, media_type)| media_type)
}

fn declaration(written: &Value) -> Value {
    let (name, description, parameters) = tool(written);
    let mut declaration = json!({ "name": name });
    if let Some(description) = description {
        declaration["description"] = description.into();
    }
    declaration["parametersJsonSchema"] = parameters;
    declaration
}
