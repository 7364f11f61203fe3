//! The body of a call: messages of content blocks, the system prompt, and `inferenceConfig`.

use serde_json::{Map, Value, json};

use crate::{
    chat::Request,
    dialect::{
        self, Manner,
        schema::strict,
        turns::{Image, Part, Side, Turn, Turns, arguments, tool},
    },
};

pub(super) fn body(request: &Request, manner: Manner<'_>) -> Map<String, Value> {
    let Turns { system, turns } = Turns::of(&request.messages);
    let mut body = Map::new();
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into_iter().map(|text| json!({ "text": text })).collect());
    }
    body.insert("messages".to_owned(), turns.iter().map(message).collect());
    let mut config = Map::new();
    if let Some(max_tokens) = request.max_tokens {
        config.insert("maxTokens".to_owned(), max_tokens.into());
    }
    if let Some(temperature) = request.temperature {
        config.insert("temperature".to_owned(), temperature.into());
    }
    if !config.is_empty() {
        body.insert("inferenceConfig".to_owned(), Value::Object(config));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(offered).collect();
        body.insert("toolConfig".to_owned(), json!({ "tools": tools }));
    }
    if let Some(schema) = request.schema.as_ref().filter(|_| manner.schema_mode.sends_schema()) {
        // The API expects the schema as a text.
        let schema = json!({ "name": "reply", "schema": strict(schema).to_string() });
        let format = json!({ "type": "json_schema", "structure": { "jsonSchema": schema } });
        body.insert("outputConfig".to_owned(), json!({ "textFormat": format }));
    }
    dialect::add(&mut body, request, manner.params);
    body
}

fn message(turn: &Turn<'_>) -> Value {
    let role = match turn.by {
        Side::User => "user",
        Side::Model => "assistant",
    };
    json!({ "role": role, "content": turn.parts.iter().flat_map(blocks).collect::<Vec<_>>() })
}

fn blocks(part: &Part<'_>) -> Vec<Value> {
    let block = match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image(Image::Inline { media_type, base64 }) => {
            let format = media_type.trim_start_matches("image/");
            json!({ "image": { "format": format, "source": { "bytes": base64 } } })
        }
        // A call with an address is refused before it is sent.
        Part::Image(Image::Address(_)) => return Vec::new(),
        Part::Call(call) => {
            json!({ "toolUse": { "toolUseId": call.id, "name": call.name, "input": arguments(call) } })
        }
        Part::Result { id, text, .. } => {
            json!({ "toolResult": { "toolUseId": id, "content": [{ "text": text }] } })
        }
        Part::Echo(kept) => return kept.as_array().into_iter().flatten().map(reasoning).collect(),
    };
    vec![block]
}

/// Stored reasoning: a text with its signature, or bytes that only the model reads.
fn reasoning(kept: &Value) -> Value {
    if kept.get("text").is_some() {
        json!({ "reasoningContent": { "reasoningText": kept } })
    } else {
        json!({ "reasoningContent": kept })
    }
}

fn offered(written: &Value) -> Value {
    let (name, description, parameters) = tool(written);
    let mut spec = json!({ "name": name });
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        spec["description"] = description.into();
    }
    spec["inputSchema"] = json!({ "json": parameters });
    json!({ "toolSpec": spec })
}
