//! The interface between the client and one provider's API: a [`Dialect`] builds the body of a chat and reads its
//! answer.
//!
//! Connections, limits, times, retries and streams are the same for all dialects, in [`crate::client`] and its layers.

pub(crate) mod schema;
pub(crate) mod turns;

use std::fmt;

use ::http::header::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    chat::Request,
    gather::{Gather, Trouble},
};

/// The wire form of one API.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// Adds the headers that the API requires in every call.
    fn headers(&self, _headers: &mut HeaderMap) {}

    /// The part of the request that this API does not support.
    fn cannot_carry(&self, _request: &Request) -> Option<String> {
        None
    }

    /// The body of a call.
    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8>;

    /// The fields that make the model call this tool.
    fn force_tool(&self, name: &str) -> Map<String, Value>;

    /// Reads an answer that came whole.
    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble>;

    /// Reads one event of a stream, whose name may be empty. Returns whether it was the last one.
    fn event(&self, name: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble>;

    /// Keys of the body whose values are parameters themselves, which `params` name as `KEY: {NAME: …}`.
    fn groups(&self) -> &'static [&'static str] {
        &[]
    }

    /// The setting of the endpoint that helps if the server refuses the parameter; `None` if there is none.
    fn mend(&self, parameter: &str, schema_mode: SchemaMode) -> Option<String>;
}

/// The additions of the endpoint's settings to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Empty for servers that have but one.
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) schema_mode: SchemaMode,
    /// The name of the token cap, which differs between servers of one dialect.
    pub(crate) max_tokens_key: &'a str,
    /// Added to the body, replacing existing values; `null` removes a parameter.
    pub(crate) params: &'a Map<String, Value>,
    /// The name of the system message's role, which differs between servers of one dialect.
    pub(crate) system_role: &'static str,
}

/// How a request asks for a reply that satisfies a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// `response_format: json_schema`, or the dialect's equivalent.
    #[default]
    JsonSchema,
    /// As `json_schema`, and the server enforces it (`strict: true` of OpenAI): every property of an object is required.
    Strict,
    /// `response_format: json_object`, for servers without support for schemas.
    JsonObject,
    /// As the arguments of a tool that the model must call, for servers that support tools and no schemas.
    Tool,
    /// Not sent, for servers that refuse it.
    None,
}

impl SchemaMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::Strict => "strict",
            Self::JsonObject => "json_object",
            Self::Tool => "tool",
            Self::None => "none",
        }
    }

    /// Whether the schema itself is sent.
    pub(crate) fn sends_schema(self) -> bool {
        matches!(self, Self::JsonSchema | Self::Strict)
    }
}

/// Parameters that `params` cannot set: other settings do, and reading the answer depends on some of them.
pub(crate) const RESERVED: [&str; 6] = ["messages", "input", "contents", "model", "stream", "tools"];

/// The entries of an endpoint's `params` that are sent.
pub(crate) fn written(params: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    params.iter().filter(|(key, value)| !value.is_null() && !RESERVED.contains(&key.as_str()))
}

/// Adds the caller's and then the endpoint's parameters to a body: objects are merged key by key, `null` removes a key,
/// and everything else replaces the existing value.
pub(crate) fn add(body: &mut Map<String, Value>, request: &Request, params: &Map<String, Value>) {
    for more in [&request.extra, params] {
        let allowed = more.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str()));
        allowed.for_each(|(key, value)| join(body, key, value));
    }
}

fn join(body: &mut Map<String, Value>, key: &str, value: &Value) {
    match (body.get_mut(key), value) {
        (_, Value::Null) => {
            body.shift_remove(key);
        }
        (Some(Value::Object(inner)), Value::Object(more)) => {
            more.iter().for_each(|(key, value)| join(inner, key, value));
            if inner.is_empty() {
                body.shift_remove(key);
            }
        }
        (_, Value::Object(more)) => {
            let mut inner = Map::new();
            more.iter().for_each(|(key, value)| join(&mut inner, key, value));
            if !inner.is_empty() || more.is_empty() {
                body.insert(key.to_owned(), Value::Object(inner));
            }
        }
        (_, value) => {
            body.insert(key.to_owned(), value.clone());
        }
    }
}

/// One key with its value, to be added to a body.
pub(crate) fn one(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

/// The bytes of a body that is built as a value.
pub(crate) fn bytes(body: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(body).expect("a value is always JSON")
}

/// The line of `params` that removes a parameter, which may be in a group: `generationConfig.seed`.
pub(crate) fn taken_out(parameter: &str) -> String {
    match parameter.split_once('.') {
        Some((group, name)) => format!("params: {{{group}: {{{name}: null}}}}"),
        None => format!("params: {{{parameter}: null}}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn params_are_joined_key_by_key() {
        let mut body =
            json!({ "contents": [1], "generationConfig": { "seed": 1, "temperature": 0.5 }, "only": { "a": 1 } });
        let params = json!({
            "generationConfig": { "seed": null, "thinkingConfig": { "thinkingBudget": 0, "x": null } }, "only": { "a": null },
            "contents": [], "safetySettings": [], "gone": null, "labels": { "none": null },
        });
        let body = body.as_object_mut().expect("an object");
        add(body, &Request::default(), params.as_object().expect("an object"));
        let expected = json!({
            "contents": [1], "generationConfig": { "temperature": 0.5, "thinkingConfig": { "thinkingBudget": 0 } },
            "safetySettings": [],
        });
        assert_eq!(Value::Object(body.clone()), expected);
        assert_eq!(taken_out("generationConfig.seed"), "params: {generationConfig: {seed: null}}");
        assert_eq!(taken_out("temperature"), "params: {temperature: null}");
    }
}
