//! `json_schema`: the text is JSON that fits a JSON Schema.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{kind::Kind, place::Place};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    pub schema: Value,
}

/// The text is JSON, alone, in a code fence or between words, that fits a JSON Schema.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "JsonSchemaDocument")]
pub struct Written {
    /// The JSON Schema. It cannot refer to other documents.
    schema: Map<String, Value>,
}

impl Kind for JsonSchema {
    type Written = Written;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Written, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(Self { schema: Value::Object(written.schema) })
    }
}
