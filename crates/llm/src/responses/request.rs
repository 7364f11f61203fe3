//! The body of a call: instructions, a list of input items, and nothing for the server to store.

use serde_json::{Map, Value, json};

use crate::{
    chat::Request,
    dialect::{self, Manner, SchemaMode, schema::complete, turns::tool},
    message::{Message, MessageRole},
};

pub(super) fn body(request: &Request, manner: Manner<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    if !manner.model.is_empty() {
        body.insert("model".to_owned(), manner.model.into());
    }
    // The instructions precede the chat; a system message inside it stays in its place.
    let first = request.messages.iter().take_while(|message| message.role == MessageRole::System).count();
    let (system, chat) = request.messages.split_at(first);
    if !system.is_empty() {
        let texts: Vec<&str> = system.iter().map(|message| message.content.as_str()).collect();
        body.insert("instructions".to_owned(), texts.join("\n\n").into());
    }
    body.insert("input".to_owned(), chat.iter().flat_map(items).collect());
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(max_tokens) = request.max_tokens {
        body.insert("max_output_tokens".to_owned(), max_tokens.into());
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(offered).collect());
    }
    if let Some(format) = request.schema.as_ref().and_then(|schema| format(schema, manner.schema_mode)) {
        body.insert("text".to_owned(), json!({ "format": format }));
    }
    if !request.tools.is_empty() {
        // Without storage, the model's reasoning before a call goes back in this form or is lost.
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("store".to_owned(), false.into());
    if manner.stream {
        body.insert("stream".to_owned(), true.into());
    }
    dialect::add(&mut body, request, manner.params);
    body
}

fn items(message: &Message) -> Vec<Value> {
    if let Some(id) = &message.tool_call_id {
        return vec![json!({ "type": "function_call_output", "call_id": id, "output": message.content })];
    }
    let mut items = message.echo.as_deref().and_then(Value::as_array).cloned().unwrap_or_default();
    if !message.content.is_empty() || !message.images.is_empty() {
        items.push(json!({ "role": message.role.name(), "content": content(message) }));
    }
    items.extend(message.tool_calls.iter().map(
        |call| json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments }),
    ));
    items
}

fn content(message: &Message) -> Value {
    if message.images.is_empty() {
        return message.content.as_str().into();
    }
    let text = Some(&message.content).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "type": "input_text", "text": text }));
    let images = message.images.iter().map(|url| json!({ "type": "input_image", "image_url": url }));
    text.into_iter().chain(images).collect()
}

fn offered(written: &Value) -> Value {
    let (name, description, parameters) = tool(written);
    let mut offered = json!({ "type": "function", "name": name });
    if let Some(description) = description {
        offered["description"] = description.into();
    }
    offered["parameters"] = parameters;
    // The default is strict, which refuses most schemas that were not written for it.
    offered["strict"] = false.into();
    offered
}

/// OpenAI takes only a part of JSON Schema as `strict`, and refuses the call for the rest.
fn format(schema: &Value, mode: SchemaMode) -> Option<Value> {
    match mode {
        SchemaMode::JsonSchema => Some(json!({ "type": "json_schema", "name": "reply", "schema": schema })),
        SchemaMode::Strict => {
            Some(json!({ "type": "json_schema", "name": "reply", "strict": true, "schema": complete(schema) }))
        }
        SchemaMode::JsonObject => Some(json!({ "type": "json_object" })),
        SchemaMode::Tool | SchemaMode::None => None,
    }
}
