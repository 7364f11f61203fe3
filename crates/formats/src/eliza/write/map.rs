//! Builds mappings without empty values.

use serde_json::{Map, Value};

/// The serialised form of a part of the model.
pub(super) fn plain(value: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(value).expect("the shapes of the model have text keys only");
    if let Value::Object(map) = &mut value {
        map.retain(|_, value| !value.is_null());
    }
    value
}

pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

pub(super) fn put_list(map: &mut Map<String, Value>, key: &str, list: Vec<Value>) {
    put(map, key, (!list.is_empty()).then_some(Value::Array(list)));
}

pub(super) fn put_map(map: &mut Map<String, Value>, key: &str, inner: Map<String, Value>) {
    put(map, key, (!inner.is_empty()).then_some(Value::Object(inner)));
}
