//! The seam between the client and what one provider's API writes: a [`Dialect`] makes the body of a chat and reads its answer.
//!
//! Connections, limits, times, retries and streams are the same for all of them, in [`crate::client`] and its layers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    chat::Request,
    gather::{Gather, Trouble},
};

/// How one API is spoken.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// What of the request this API cannot carry.
    fn cannot_carry(&self, _request: &Request) -> Option<String> {
        None
    }

    /// The body of a call.
    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8>;

    /// Reads an answer that came whole.
    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble>;

    /// Reads one event of a stream; whether it was the last one.
    fn event(&self, data: &[u8], gather: &mut Gather) -> Result<bool, Trouble>;

    /// Keys of the body whose values are parameters in turn, which `params` name as `KEY: {NAME: …}`.
    fn groups(&self) -> &'static [&'static str] {
        &[]
    }

    /// The line of the endpoint's settings that helps where the server refuses the parameter; `None` where no setting
    /// does.
    fn mend(&self, parameter: &str, schema_mode: SchemaMode) -> Option<String>;
}

/// What the endpoint's settings add to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// Empty for servers that have but one.
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) schema_mode: SchemaMode,
    /// What the most tokens of a reply are called, where servers of one dialect differ.
    pub(crate) max_tokens_key: &'a str,
    /// Added to the body or put in the place of what stands there; `null` takes it out.
    pub(crate) params: &'a Map<String, Value>,
}

/// How a server is told that the reply must satisfy a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// `response_format: json_schema`.
    #[default]
    JsonSchema,
    /// `response_format: json_object`, for servers that know no schemas.
    JsonObject,
    /// Not at all, for servers that refuse `response_format`.
    None,
}

/// What no `params` may say: other settings do, and reading the answer depends on some.
pub(crate) const RESERVED: [&str; 6] = ["messages", "input", "contents", "model", "stream", "tools"];

/// Those of an endpoint's `params` that are sent.
pub(crate) fn written(params: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    params.iter().filter(|(key, value)| !value.is_null() && !RESERVED.contains(&key.as_str()))
}
