//! JSON Schemas of what users write, for editors and for `gabfest schema`.

mod shape;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub use shape::Shape;

/// The schema of `*.scenario.yaml`.
#[must_use]
pub fn scenario() -> Value {
    of::<crate::format::eliza::ScenarioDocument>()
}

/// The schema of `*.matrix.yaml`.
#[must_use]
pub fn matrix() -> Value {
    of::<crate::matrix::MatrixDocument>()
}

/// The schema of one persona of the library.
#[must_use]
pub fn persona() -> Value {
    of::<crate::persona::PersonaDocument>()
}

/// The schema of a type that users write, in draft 2020-12.
///
/// A key may be left out but not left empty: the readers refuse `key:` without a value, so the schema does too.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    forbid_null(&mut schema);
    schema
}

/// Takes out the `null` that stands for a value of Rust's `Option` that is left out.
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
