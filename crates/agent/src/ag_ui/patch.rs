//! JSON Patch (RFC 6902), by which runs change the state of a conversation.

use serde_json::Value;

/// Applies the operations of a patch in order, and stops at the first one that cannot be applied.
pub(super) fn apply(document: &mut Value, operations: &[Value]) -> Result<(), String> {
    operations.iter().try_for_each(|operation| {
        step(document, operation).ok_or_else(|| format!("the state has no place for the operation {operation}"))
    })
}

fn step(document: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str()?;
    match operation["op"].as_str()? {
        "add" => add(document, path, operation.get("value")?.clone()),
        "remove" => remove(document, path).map(drop),
        "replace" => {
            *document.pointer_mut(path)? = operation.get("value")?.clone();
            Some(())
        }
        "move" => {
            let value = remove(document, operation["from"].as_str()?)?;
            add(document, path, value)
        }
        "copy" => {
            let value = document.pointer(operation["from"].as_str()?)?.clone();
            add(document, path, value)
        }
        "test" => (document.pointer(path)? == operation.get("value")?).then_some(()),
        _ => None,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        *document = value;
        return Some(());
    }
    let (parent, key) = split(path)?;
    match document.pointer_mut(parent)? {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(list) if key == "-" => list.push(value),
        Value::Array(list) => {
            let index = key.parse().ok().filter(|index| *index <= list.len())?;
            list.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &str) -> Option<Value> {
    let (parent, key) = split(path)?;
    match document.pointer_mut(parent)? {
        Value::Object(map) => map.remove(&key),
        Value::Array(list) => {
            let index: usize = key.parse().ok()?;
            (index < list.len()).then(|| list.remove(index))
        }
        _ => None,
    }
}

/// The parent of a JSON Pointer (RFC 6901), and the key in it.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, key) = path.rsplit_once('/')?;
    Some((parent, key.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_change_the_state() {
        let state = json!({ "a": { "b/c": 1 }, "l": [1, 2] });
        let rows = [
            (
                json!([{ "op": "add", "path": "/a/x", "value": 2 }]),
                Some(json!({ "a": { "b/c": 1, "x": 2 }, "l": [1, 2] })),
            ),
            (
                json!([{ "op": "replace", "path": "/a/b~1c", "value": 2 }]),
                Some(json!({ "a": { "b/c": 2 }, "l": [1, 2] })),
            ),
            (json!([{ "op": "remove", "path": "/a/b~1c" }]), Some(json!({ "a": {}, "l": [1, 2] }))),
            (json!([{ "op": "add", "path": "/l/-", "value": 3 }]), Some(json!({ "a": { "b/c": 1 }, "l": [1, 2, 3] }))),
            (json!([{ "op": "add", "path": "/l/0", "value": 0 }]), Some(json!({ "a": { "b/c": 1 }, "l": [0, 1, 2] }))),
            (
                json!([{ "op": "move", "from": "/l/0", "path": "/a/m" }]),
                Some(json!({ "a": { "b/c": 1, "m": 1 }, "l": [2] })),
            ),
            (
                json!([{ "op": "copy", "from": "/l", "path": "/k" }]),
                Some(json!({ "a": { "b/c": 1 }, "l": [1, 2], "k": [1, 2] })),
            ),
            (json!([{ "op": "add", "path": "", "value": 5 }]), Some(json!(5))),
            (json!([{ "op": "test", "path": "/l/1", "value": 2 }]), Some(state.clone())),
            (json!([{ "op": "test", "path": "/l/1", "value": 3 }]), None),
            (json!([{ "op": "remove", "path": "/l/9" }]), None),
            (json!([{ "op": "add", "path": "/l/9", "value": 1 }]), None),
            (json!([{ "op": "replace", "path": "/none", "value": 1 }]), None),
            (json!([{ "op": "increase", "path": "/l/0" }]), None),
            (json!([{ "op": "add", "path": "l" }]), None),
        ];
        for (operations, expected) in rows {
            let mut changed = state.clone();
            let found = apply(&mut changed, operations.as_array().unwrap());
            assert_eq!(found.is_ok().then_some(changed), expected, "{operations}: {found:?}");
        }
    }
}
