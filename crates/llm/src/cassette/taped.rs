//! The calls that a cassette can keep: chats, measurements, and messages to agents.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    call::{self, Request},
    chat,
    measure::{self, Measurement},
    message::Message,
};

/// A request that a cassette can keep, with its reply.
pub trait Taped: Request {
    /// Whether the model is a part of the content. A replay does not load the models of this machine, so it cannot name them.
    const NAMES_MODEL: bool;

    /// What its reply depends on, without what differs between two runs of a plan: seeds, ids, time limits.
    fn asked(&self) -> Value;

    /// The reply as JSON.
    ///
    /// # Errors
    /// It holds something that JSON cannot.
    fn keep(reply: &Self::Reply) -> Result<Value, serde_json::Error>;

    /// The reply from its JSON.
    ///
    /// # Errors
    /// It is no such reply.
    fn recall(kept: Value) -> Result<Self::Reply, serde_json::Error>;
}

impl<R: call::Reply + Clone + Serialize + DeserializeOwned> Taped for chat::Request<R> {
    const NAMES_MODEL: bool = true;

    fn asked(&self) -> Value {
        let mut asked = Map::new();
        asked.insert("messages".to_owned(), self.messages.iter().map(message).collect());
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                asked.insert(name.to_owned(), value);
            }
        };
        add("temperature", self.temperature.map(Value::from));
        add("max_tokens", self.max_tokens.map(Value::from));
        add("tools", (!self.tools.is_empty()).then(|| Value::from(self.tools.clone())));
        add("schema", self.schema.clone());
        add("extra", (!self.extra.is_empty()).then(|| Value::from(self.extra.clone())));
        Value::Object(asked)
    }

    fn keep(reply: &R) -> Result<Value, serde_json::Error> {
        serde_json::to_value(reply)
    }

    fn recall(kept: Value) -> Result<R, serde_json::Error> {
        serde_json::from_value(kept)
    }
}

impl<M> Taped for measure::Request<M>
where
    M: Measurement + Serialize,
    M::Value: Serialize + DeserializeOwned,
{
    const NAMES_MODEL: bool = false;

    fn asked(&self) -> Value {
        json!({ M::NAME: self.of })
    }

    fn keep(reply: &measure::Reply<M::Value>) -> Result<Value, serde_json::Error> {
        serde_json::to_value(reply)
    }

    fn recall(kept: Value) -> Result<measure::Reply<M::Value>, serde_json::Error> {
        serde_json::from_value(kept)
    }
}

fn message(message: &Message) -> Value {
    let Message { role, content, images, tool_calls, tool_call_id, echo } = message;
    let mut written = Map::new();
    written.insert("role".to_owned(), role.name().into());
    written.insert("content".to_owned(), content.as_str().into());
    if !images.is_empty() {
        written.insert("images".to_owned(), images.clone().into());
    }
    if !tool_calls.is_empty() {
        let calls =
            tool_calls.iter().map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }));
        written.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(id) = tool_call_id {
        written.insert("tool_call_id".to_owned(), id.as_str().into());
    }
    if let Some(echo) = echo.as_deref() {
        written.insert("echo".to_owned(), echo.clone());
    }
    Value::Object(written)
}
