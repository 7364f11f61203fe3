//! The form of a judge's answer: a JSON Schema, compiled once, and the meaning of its fields.

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::reply;
use crate::{
    error::Error,
    excerpt::{SHORT_BYTES, excerpt},
    json_schema::validator,
};

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) schema: Value,
    /// The schema as the prompt shows it.
    schema_text: String,
    /// The meaning of the fields, for the prompt.
    meaning: String,
    /// The limit of the visible answer. The endpoint's reserve for reasoning comes on top.
    pub(crate) max_tokens: u32,
    validator: Validator,
}

impl Form {
    /// A form with any JSON Schema that refers to no other document. Its patterns run in linear time.
    pub(crate) fn new(schema: Value, meaning: String, max_tokens: u32) -> Result<Self, Error> {
        let validator = validator(&schema)?;
        Ok(Self { schema_text: schema.to_string(), schema, meaning, max_tokens, validator })
    }

    /// A form of an object with exactly these properties, in this order, all required.
    pub(crate) fn of_properties(properties: Value, meaning: String, max_tokens: u32) -> Result<Self, Error> {
        Self::new(object(properties), meaning, max_tokens)
    }

    /// The schema, and the meaning of its fields.
    pub(super) fn texts(&self) -> [&str; 2] {
        [&self.schema_text, &self.meaning]
    }

    /// The JSON object of the reply if it satisfies the schema; otherwise what is wrong with it.
    pub(crate) fn read(&self, text: &str) -> Result<Map<String, Value>, String> {
        let value = reply::json(text)?;
        if let Err(error) = self.validator.validate(&value) {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the reply" } else { &place };
            // Masked, because the model's value can be anything.
            let fault = error.masked().to_string();
            return Err(format!("{place} does not fit the schema: {}", excerpt(&fault, SHORT_BYTES)));
        }
        match value {
            Value::Object(fields) => Ok(fields),
            _ => Err("the reply is not a JSON object".to_owned()),
        }
    }
}

/// The schema of an object with exactly these properties, in this order, all required.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let required = json!(required);
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
