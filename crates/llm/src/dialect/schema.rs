//! Adapts a JSON Schema to strict servers: closed objects, and only keywords that they accept.
//!
//! Other keywords move into the description, so that the model can follow them. gabfest validates the reply against the
//! whole schema.

use serde_json::{Map, Value};

/// Keywords that describe a value or its parts, and that strict servers accept.
const KNOWN: [&str; 9] = ["type", "enum", "const", "description", "title", "default", "required", "$ref", "minItems"];

/// Text formats that strict servers accept.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// For servers that let an object leave out properties.
pub(crate) fn strict(schema: &Value) -> Value {
    write(schema, false)
}

/// For servers that require every property of an object.
pub(crate) fn complete(schema: &Value) -> Value {
    write(schema, true)
}

fn write(schema: &Value, all_required: bool) -> Value {
    let strict = |schema: &Value| write(schema, all_required);
    let Value::Object(written) = schema else { return schema.clone() };
    let mut kept = Map::new();
    let mut refused = Vec::new();
    for (key, value) in written {
        match (key.as_str(), value) {
            ("minItems", value) if !matches!(value.as_u64(), Some(0 | 1)) => refused.push((key, value)),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => keep(&mut kept, key, value),
            ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
                let parts = parts.iter().map(|(name, part)| (name.clone(), strict(part))).collect();
                kept.insert(key.clone(), Value::Object(parts));
            }
            ("items", part) => {
                kept.insert(key.clone(), strict(part));
            }
            ("anyOf" | "allOf", Value::Array(parts)) => {
                kept.insert(key.clone(), parts.iter().map(strict).collect());
            }
            ("oneOf", Value::Array(parts)) => {
                kept.insert("anyOf".to_owned(), parts.iter().map(strict).collect());
            }
            ("additionalProperties" | "$schema" | "$id", _) => {}
            (known, value) if KNOWN.contains(&known) => keep(&mut kept, key, value),
            _ => refused.push((key, value)),
        }
    }
    if is_object(&kept) {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
        if let (true, Some(Value::Object(properties))) = (all_required, kept.get("properties")) {
            let names = properties.keys().map(|name| Value::from(name.as_str())).collect();
            kept.insert("required".to_owned(), names);
        }
    }
    if !refused.is_empty() {
        let described = kept.get("description").and_then(Value::as_str).unwrap_or_default();
        let limits: Vec<String> = refused.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let described = format!("{described}\n\n{{{}}}", limits.join(", "));
        kept.insert("description".to_owned(), Value::String(described.trim_start().to_owned()));
    }
    Value::Object(kept)
}

fn keep(strict: &mut Map<String, Value>, key: &str, value: &Value) {
    strict.insert(key.to_owned(), value.clone());
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == "object",
        Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
        _ => schema.contains_key("properties"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_go_into_the_description() {
        let written = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["score", "tags"],
            "properties": {
                "score": { "type": "number", "minimum": 0, "maximum": 1, "description": "How good." },
                "name": { "type": "string", "pattern": "^a", "maxLength": 9 },
                "day": { "type": "string", "format": "date" },
                "odd": { "type": "string", "format": "colour" },
                "tags": { "type": "array", "minItems": 2, "items": { "type": "object", "properties": {} } },
                "one": { "oneOf": [{ "type": "integer", "multipleOf": 2 }, { "type": "null" }] },
                "verdict": { "enum": ["yes", "no"] },
            },
            "additionalProperties": true,
        });
        let expected = json!({
            "type": "object",
            "required": ["score", "tags"],
            "properties": {
                "score": { "type": "number", "description": "How good.\n\n{minimum: 0, maximum: 1}" },
                "name": { "type": "string", "description": "{pattern: \"^a\", maxLength: 9}" },
                "day": { "type": "string", "format": "date" },
                "odd": { "type": "string", "description": "{format: \"colour\"}" },
                "tags": {
                    "type": "array",
                    "items": { "type": "object", "properties": {}, "additionalProperties": false },
                    "description": "{minItems: 2}",
                },
                "one": { "anyOf": [{ "type": "integer", "description": "{multipleOf: 2}" }, { "type": "null" }] },
                "verdict": { "enum": ["yes", "no"] },
            },
            "additionalProperties": false,
        });
        assert_eq!(strict(&written), expected);
        assert_eq!(strict(&expected), expected, "what is strict stays as it is");
        let required = json!(["score", "name", "day", "odd", "tags", "one", "verdict"]);
        assert_eq!(complete(&written)["required"], required);
    }
}
