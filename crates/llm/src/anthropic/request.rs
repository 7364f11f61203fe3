//! The body of a message: the system prompt at the top, and turns of content blocks.

use serde_json::{Map, Value, json};

use crate::{
    chat::Request,
    dialect::{
        self, Manner,
        schema::strict,
        turns::{Image, Part, Side, Turn, Turns, arguments, tool},
    },
};

pub(super) fn body(request: &Request, manner: Manner<'_>, max_tokens: u32) -> Map<String, Value> {
    let Turns { system, turns } = Turns::of(&request.messages);
    let mut body = Map::new();
    body.insert("model".to_owned(), manner.model.into());
    body.insert("max_tokens".to_owned(), request.max_tokens.unwrap_or(max_tokens).into());
    if !system.is_empty() {
        body.insert("system".to_owned(), system.join("\n\n").into());
    }
    body.insert("messages".to_owned(), turns.iter().map(message).collect());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(offered).collect());
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(schema) = request.schema.as_ref().filter(|_| manner.schema_mode.sends_schema()) {
        let format = json!({ "type": "json_schema", "schema": strict(schema) });
        body.insert("output_config".to_owned(), json!({ "format": format }));
    }
    if manner.stream {
        body.insert("stream".to_owned(), true.into());
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
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(Image::Address(url)) => {
            json!({ "type": "image", "source": { "type": "url", "url": url } })
        }
        Part::Image(Image::Inline { media_type, base64 }) => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": base64 } })
        }
        Part::Call(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call) })
        }
        Part::Result { id, text, .. } => json!({ "type": "tool_result", "tool_use_id": id, "content": text }),
        // Its thinking, which the API checks by its signature.
        Part::Echo(Value::Array(thinking)) => return thinking.clone(),
        Part::Echo(_) => return Vec::new(),
    };
    vec![block]
}

fn offered(written: &Value) -> Value {
    let (name, description, input_schema) = tool(written);
    let mut offered = json!({ "name": name });
    if let Some(description) = description {
        offered["description"] = description.into();
    }
    offered["input_schema"] = input_schema;
    offered
}
