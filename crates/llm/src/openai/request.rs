//! The body of a chat completion, written straight from the request without a value tree in between.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value};

use crate::{
    chat::Request,
    dialect::{Manner, SchemaMode, schema::complete, written},
    message::{FunctionCall, Message, MessageRole},
};

/// The size of a body without its messages. A good guess saves reallocations; a wrong one costs nothing.
const FRAME_BYTES: usize = 256;
/// The size of a message without its text.
const MESSAGE_FRAME_BYTES: usize = 48;

pub(super) fn body(request: &Request, manner: Manner<'_>) -> Vec<u8> {
    let messages = request.messages.iter().map(|message| message.content.len() + MESSAGE_FRAME_BYTES);
    let mut body = Vec::with_capacity(FRAME_BYTES + messages.sum::<usize>());
    serde_json::to_writer(&mut body, &Body { request, manner })
        .expect("writing to memory fails only on keys that are no text");
    body
}

struct Body<'a> {
    request: &'a Request,
    manner: Manner<'a>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, manner } = self;
        let mut map = Once { map: serializer.serialize_map(None)?, extra: &request.extra, params: manner.params };
        if !manner.model.is_empty() {
            map.entry("model", manner.model)?;
        }
        map.own("messages", &Messages { messages: &request.messages, system_role: manner.system_role })?;
        if let Some(temperature) = request.temperature {
            map.entry("temperature", &temperature)?;
        }
        if let Some(max_tokens) = request.max_tokens {
            map.entry(manner.max_tokens_key, &max_tokens)?;
        }
        if let Some(seed) = request.seed {
            map.entry("seed", &wire_seed(seed))?;
        }
        if !request.tools.is_empty() {
            map.entry("tools", &request.tools)?;
        }
        if let Some(schema) = &request.schema {
            match manner.schema_mode {
                SchemaMode::JsonSchema => map.entry("response_format", &schema_format(schema, false))?,
                SchemaMode::Strict => map.entry("response_format", &schema_format(&complete(schema), true))?,
                SchemaMode::JsonObject => map.entry("response_format", &OBJECT_FORMAT)?,
                SchemaMode::Tool | SchemaMode::None => {}
            }
        }
        if manner.stream {
            map.own("stream", &true)?;
            map.entry("stream_options", &StreamOptions { include_usage: true })?;
        }
        map.end()
    }
}

/// A map that writes each key once. The request's values replace the settings, but never the messages or `stream`, on
/// which reading the answer depends. The endpoint's own `params` take precedence over both.
struct Once<'a, M> {
    map: M,
    extra: &'a Map<String, Value>,
    params: &'a Map<String, Value>,
}

const OWN: [&str; 2] = ["messages", "stream"];

impl<M: SerializeMap> Once<'_, M> {
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), M::Error> {
        let replaced = self.extra.contains_key(key) || self.params.contains_key(key);
        if replaced { Ok(()) } else { self.map.serialize_entry(key, value) }
    }

    fn own<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), M::Error> {
        self.map.serialize_entry(key, value)
    }

    fn end(mut self) -> Result<M::Ok, M::Error> {
        let added =
            self.extra.iter().filter(|(key, _)| !OWN.contains(&key.as_str()) && !self.params.contains_key(*key));
        for (key, value) in added.chain(written(self.params)) {
            self.map.serialize_entry(key, value)?;
        }
        self.map.end()
    }
}

/// Servers read the seed into a signed number and refuse larger ones.
fn wire_seed(seed: u64) -> u64 {
    seed & (u64::MAX >> 1)
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<Schema<'a>>,
}

/// OpenAI takes only a part of JSON Schema as `strict`, and refuses the call for the rest.
#[derive(Serialize)]
struct Schema<'a> {
    name: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    schema: &'a Value,
}

const OBJECT_FORMAT: ResponseFormat<'static> = ResponseFormat { r#type: "json_object", json_schema: None };

fn schema_format(schema: &Value, strict: bool) -> ResponseFormat<'_> {
    ResponseFormat { r#type: "json_schema", json_schema: Some(Schema { name: "reply", strict, schema }) }
}

struct Messages<'a> {
    messages: &'a [Message],
    system_role: &'static str,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.messages.len()))?;
        for message in self.messages {
            list.serialize_element(&Line {
                role: if message.role == MessageRole::System { self.system_role } else { message.role.name() },
                content: Content(message),
                tool_calls: Calls(&message.tool_calls),
                tool_call_id: message.tool_call_id.as_deref(),
            })?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    role: &'static str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Calls::is_empty")]
    tool_calls: Calls<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

struct Content<'a>(&'a Message);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        if message.content.is_empty() && message.role == MessageRole::Assistant && !message.tool_calls.is_empty() {
            return serializer.serialize_none();
        }
        if message.images.is_empty() {
            return serializer.serialize_str(&message.content);
        }
        let mut parts = serializer.serialize_seq(None)?;
        if !message.content.is_empty() {
            parts.serialize_element(&TextPart { r#type: "text", text: &message.content })?;
        }
        for url in &message.images {
            parts.serialize_element(&ImagePart { r#type: "image_url", image_url: ImageUrl { url } })?;
        }
        parts.end()
    }
}

#[derive(Serialize)]
struct TextPart<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ImagePart<'a> {
    r#type: &'static str,
    image_url: ImageUrl<'a>,
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
}

struct Calls<'a>(&'a [FunctionCall]);

impl Calls<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|call| Call {
            id: &call.id,
            r#type: "function",
            function: Function { name: &call.name, arguments: &call.arguments },
        }))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;

    use super::*;

    static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

    fn manner() -> Manner<'static> {
        Manner {
            model: "gpt-x",
            stream: false,
            schema_mode: SchemaMode::JsonSchema,
            max_tokens_key: "max_tokens",
            params: &NOTHING,
            system_role: "system",
        }
    }

    fn sent(request: &Request, manner: Manner<'_>) -> Value {
        serde_json::from_slice(&body(request, manner)).expect("JSON")
    }

    #[test]
    fn a_plain_question_is_short() {
        let request =
            Request { messages: vec![Message::system("be brief"), Message::user("hi")], ..Request::default() };
        assert_eq!(
            sent(&request, manner()),
            json!({ "model": "gpt-x", "messages": [
                { "role": "system", "content": "be brief" }, { "role": "user", "content": "hi" }] })
        );
        assert!(sent(&request, Manner { model: "", ..manner() }).get("model").is_none());
    }

    #[test]
    fn the_system_can_have_another_role() {
        let messages = vec![Message::system("be brief"), Message::user("hi")];
        let body = sent(&Request { messages, ..Request::default() }, Manner { system_role: "developer", ..manner() });
        assert_eq!(body["messages"][0], json!({ "role": "developer", "content": "be brief" }));
        assert_eq!(body["messages"][1]["role"], "user");
    }

    #[test]
    fn every_setting_has_its_place() {
        let request = Request {
            messages: vec![Message::user("hi")],
            temperature: Some(0.5),
            max_tokens: Some(9),
            seed: Some(u64::MAX),
            tools: vec![json!({"type": "function"})],
            schema: Some(json!({"type": "object"})),
            ..Request::default()
        };
        let body = sent(&request, Manner { stream: true, ..manner() });
        assert_eq!(body["temperature"], 0.5);
        assert_eq!(body["max_tokens"], 9);
        assert_eq!(body["seed"], i64::MAX);
        assert_eq!(body["tools"], json!([{"type": "function"}]));
        assert_eq!(
            body["response_format"],
            json!({ "type": "json_schema", "json_schema": { "name": "reply", "schema": { "type": "object" } } })
        );
        assert_eq!(body["stream"], true);
        assert_eq!(body["stream_options"], json!({ "include_usage": true }));

        let strict = sent(&request, Manner { schema_mode: SchemaMode::Strict, ..manner() });
        assert_eq!(
            strict["response_format"]["json_schema"],
            json!({ "name": "reply", "strict": true, "schema": { "type": "object", "additionalProperties": false } })
        );
        let object = sent(&request, Manner { schema_mode: SchemaMode::JsonObject, ..manner() });
        assert_eq!(object["response_format"], json!({ "type": "json_object" }));
        let none = sent(&request, Manner { schema_mode: SchemaMode::None, ..manner() });
        assert!(none.get("response_format").is_none());
    }

    #[test]
    fn params_add_replace_and_remove() {
        let request = Request {
            messages: vec![Message::user("hi")],
            temperature: Some(0.5),
            max_tokens: Some(9),
            seed: Some(7),
            extra: json!({ "plugins": ["a"], "top_p": 1 }).as_object().cloned().expect("an object"),
            ..Request::default()
        };
        let params =
            json!({ "temperature": null, "seed": 1, "reasoning_effort": "low", "top_p": null, "absent": null });
        let params = params.as_object().expect("an object");
        let body = sent(&request, Manner { params, max_tokens_key: "max_completion_tokens", ..manner() });
        assert_eq!(
            body,
            json!({
                "model": "gpt-x", "messages": [{ "role": "user", "content": "hi" }], "max_completion_tokens": 9,
                "plugins": ["a"], "seed": 1, "reasoning_effort": "low",
            })
        );
        let params = json!({ "max_tokens": null });
        let body = sent(&request, Manner { params: params.as_object().expect("an object"), ..manner() });
        assert!(body.get("max_tokens").is_none(), "{body}");
    }

    #[test]
    fn messages_of_all_kinds() {
        let messages = vec![
            Message { images: vec!["https://x/a.png".into()], ..Message::user("look") },
            Message {
                tool_calls: vec![FunctionCall { id: "c1".into(), name: "find".into(), arguments: "{}".into() }],
                ..Message::assistant("")
            },
            Message { tool_call_id: Some("c1".into()), ..Message::new(MessageRole::Tool, "found") },
        ];
        let body = sent(&Request { messages, ..Request::default() }, manner());
        assert_eq!(
            body["messages"],
            json!([
                { "role": "user", "content": [
                    { "type": "text", "text": "look" },
                    { "type": "image_url", "image_url": { "url": "https://x/a.png" } } ] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": "find", "arguments": "{}" } } ] },
                { "role": "tool", "content": "found", "tool_call_id": "c1" },
            ])
        );
    }

    #[test]
    fn request_values_replace_settings_and_never_the_messages() {
        let extra = json!({ "temperature": 0, "messages": [], "stream": true, "plugins": ["a"], "model": "other" });
        let request = Request {
            messages: vec![Message::user("hi")],
            temperature: Some(1.0),
            extra: extra.as_object().cloned().expect("an object"),
            ..Request::default()
        };
        let text = String::from_utf8(body(&request, manner())).expect("text");
        for key in ["temperature", "messages", "model", "plugins"] {
            assert_eq!(text.matches(&format!("\"{key}\":")).count(), 1, "{text}");
        }
        let body = sent(&request, manner());
        assert_eq!(body["temperature"], 0);
        assert_eq!(body["model"], "other");
        assert_eq!(body["messages"][0]["content"], "hi");
        assert!(body.get("stream").is_none());
    }
}
