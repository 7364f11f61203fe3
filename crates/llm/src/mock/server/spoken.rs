//! The interface of one provider's API on the server's side: what it refuses, and how it writes answers and errors.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value};

use crate::{
    chat::Request,
    http::frames::SSE,
    mock::{answer::Answer, model::pieces},
};

use super::reply::Heading;

/// Each refuses what the real API refuses, so that a wrong call is found without a key.
pub(super) trait Spoken: Send + Sync + 'static {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal>;

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8>;

    /// The events of a stream: one for each piece of text, so that the first is the first token; the last also brings
    /// all that comes after the text.
    fn events(&self, heading: &Heading, answer: &Answer, wants_usage: bool) -> Vec<Vec<u8>>;

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8>;

    /// The content type of a stream.
    fn stream_type(&self) -> HeaderValue {
        HeaderValue::from_static(SSE)
    }
}

/// The content of a request.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) wants_usage: bool,
}

/// Why a call is no call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        Self { status, message: message.into() }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }
}

/// The body as an object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::bad("the body is no object")),
        Err(error) => Err(Refusal::bad(error.to_string())),
    }
}

/// The first unknown key.
pub(super) fn unknown<'a>(object: &'a Map<String, Value>, known: &[&str]) -> Option<&'a str> {
    object.keys().map(String::as_str).find(|key| !known.contains(key))
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A number of tokens.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok())
}

/// A tool in OpenAI's form, in which the mock reads them.
pub(super) fn tool(name: &str, description: &str, parameters: Option<&Value>) -> Value {
    serde_json::json!({ "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters } })
}

/// The texts of an answer, one for each event; at least one, for the events before and after.
pub(super) fn texts(answer: &Answer) -> Vec<&str> {
    let texts: Vec<&str> = pieces(&answer.text).collect();
    if texts.is_empty() { vec![""] } else { texts }
}

/// Arguments as an object, which all APIs except OpenAI's expect.
pub(super) fn arguments(written: &str) -> Value {
    serde_json::from_str(written).unwrap_or_else(|_| Value::Object(Map::new()))
}
