//! The JSON Schema of a type that users write, for editors and for `gabfest schema`.

mod shape;

use std::{
    any::TypeId,
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub use shape::Shape;

/// The schema of a type that users write, in draft 2020-12.
///
/// A key may be absent but not empty: the readers refuse `key:` without a value, and so does the schema.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    forbid_null(&mut schema);
    let mut shared = BTreeSet::new();
    extended(&schema, &mut shared);
    close(&mut schema, &shared, "");
    schema
}

/// The same, built once for each type: a file with many faults needs it for each of them.
pub(crate) fn kept<T: JsonSchema + 'static>() -> Arc<Value> {
    static KEPT: LazyLock<Mutex<HashMap<TypeId, Arc<Value>>>> = LazyLock::new(Mutex::default);
    // The map is consistent at any time, even after a panic elsewhere.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(of::<T>())))
}

/// The definitions that others add keys to: with a choice by `type`, the key `type` itself.
fn extended(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let (Some(name), true) = (map.get("$ref").and_then(Value::as_str), map.contains_key("properties")) {
                found.insert(name.to_owned());
            }
            map.values().for_each(|item| extended(item, found));
        }
        Value::Array(items) => items.iter().for_each(|item| extended(item, found)),
        _ => {}
    }
}

/// Refuses the keys that the readers warn about. `shared` definitions are closed by the schemas that extend them.
fn close(schema: &mut Value, shared: &BTreeSet<String>, place: &str) {
    match schema {
        Value::Object(map) => {
            if map.get("properties").is_some_and(Value::is_object) && !shared.contains(&format!("#{place}")) {
                let word = if map.contains_key("$ref") { "unevaluatedProperties" } else { "additionalProperties" };
                map.entry(word).or_insert(Value::Bool(false));
            }
            for (key, item) in map {
                // A property may have any name, even one that is a keyword of JSON Schema.
                match (key.as_str(), item) {
                    ("properties" | "$defs", Value::Object(named)) => {
                        for (name, item) in named {
                            close(item, shared, &format!("{place}/{key}/{name}"));
                        }
                    }
                    ("default" | "const" | "enum" | "examples", _) => {}
                    (_, item) => close(item, shared, &format!("{place}/{key}")),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, shared, place)),
        _ => {}
    }
}

/// Removes the `null` that stands for an absent `Option`.
fn forbid_null(schema: &mut Value) {
    let null = Value::from("null");
    if let Value::Object(map) = schema {
        if map.get("default").is_some_and(Value::is_null) {
            map.shift_remove("default");
        }
        if let Some(Value::Array(types)) = map.get_mut("type") {
            types.retain(|kind| *kind != null);
            if let [only] = types.as_slice() {
                map["type"] = only.clone();
            }
        }
        if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != null);
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                map.shift_remove("anyOf");
                map.extend(only);
            }
        }
        map.values_mut().for_each(forbid_null);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(forbid_null);
    }
}
