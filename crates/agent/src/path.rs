//! A JSONPath of the settings (RFC 9535): the place of a value in an agent's answer.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path {
    written: String,
    path: JsonPath,
}

#[derive(Debug, thiserror::Error)]
#[error("{written:?} is not a JSONPath: it looks like $.reply.text")]
pub struct Error {
    written: String,
    source: serde_json_path::ParseError,
}

impl Path {
    pub fn parse(written: &str) -> Result<Self, Error> {
        match JsonPath::parse(written.trim()) {
            Ok(path) => Ok(Self { written: written.to_owned(), path }),
            Err(source) => Err(Error { written: written.to_owned(), source }),
        }
    }

    /// The values that are found and are not null, in order.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        self.path.query(value).all().into_iter().filter(|found| !found.is_null()).collect()
    }

    /// Whether there is a value, even null.
    pub(crate) fn exists(&self, value: &Value) -> bool {
        !self.path.query(value).is_empty()
    }

    pub(crate) fn written(&self) -> &str {
        &self.written
    }
}

impl TryFrom<String> for Path {
    type Error = Error;

    fn try_from(written: String) -> Result<Self, Error> {
        Self::parse(&written)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.written
    }
}

impl JsonSchema for Path {
    fn schema_name() -> Cow<'static, str> {
        "JsonPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A JSONPath (RFC 9535), such as $.reply.text.", "type": "string", "pattern": "^\\s*\\$" })
    }
}
