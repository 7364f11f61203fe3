//! The tool calls of a reply: read under their usual keys, and joined with results that arrive separately.

use record::turn::ToolCall;
use serde_json::{Map, Value, json};

use super::Trouble;

const MOST_CALLS: usize = 128;
/// The size limit of a tool call's name and id: a record keeps 256 bytes of them, and a conversation all.
const MOST_NAME_BYTES: usize = 1 << 10;

const NAMES: [&str; 5] = ["name", "tool", "tool_name", "toolName", "toolCallName"];
/// An event may have its own `id`, so that key is tried last.
const IDS: [&str; 6] = ["tool_call_id", "toolCallId", "call_id", "callId", "tool_use_id", "id"];
const ARGUMENTS: [&str; 6] = ["arguments", "args", "input", "parameters", "tool_input", "toolInput"];
const RESULTS: [&str; 5] = ["result", "output", "response", "observation", "toolOutput"];
const TEXTS_OF_RESULTS: [&str; 6] = ["result", "output", "response", "observation", "toolOutput", "content"];

/// Adds a call, or completes the one with the same id and name.
pub(super) fn add(calls: &mut Vec<ToolCall>, value: &Value) -> Result<(), Trouble> {
    if let Some(all) = by_name(value) {
        return all.iter().try_for_each(|call| add(calls, call));
    }
    let ToolCall { id, name, arguments, result } = call_of(value)?;
    // Some servers write an empty name if no tool is called.
    if name.is_empty() {
        return Ok(());
    }
    if let Some(known) = calls.iter_mut().find(|known| !id.is_empty() && known.id == id && known.name == name) {
        if arguments != NO_ARGUMENTS {
            known.arguments = arguments;
        }
        known.result = result.or(known.result.take());
        return Ok(());
    }
    if calls.len() == MOST_CALLS {
        return Err(Trouble(format!("more than {MOST_CALLS} tool calls")));
    }
    calls.push(ToolCall { id, name, arguments, result });
    Ok(())
}

/// Dify writes all calls of a step as one: the names with semicolons between them, and inputs and results by name.
fn by_name(value: &Value) -> Option<Vec<Value>> {
    let object = |key: &str| serde_json::from_str::<Map<String, Value>>(value.get(key)?.as_str()?).ok();
    let names: Vec<&str> = value.get("tool")?.as_str()?.split(';').collect();
    let (inputs, results) = (object("tool_input")?, object("observation"));
    let text = value.get("observation").filter(|text| *text != "");
    let call = |name: &str| {
        let input = inputs.get(name).filter(|input| input.is_object())?;
        let result = results.as_ref().map_or(text, |results| results.get(name));
        Some(json!({ "id": value.get("id"), "name": name, "arguments": input, "result": result }))
    };
    names.into_iter().map(call).collect()
}

/// Adds a result to its call: the call with its id, or else the last call of its name without a result. A result
/// without a call becomes a call if it has a name, and is dropped otherwise.
pub(super) fn answer(calls: &mut Vec<ToolCall>, value: &Value) -> Result<(), Trouble> {
    let id = get(value, &IDS).map(words).unwrap_or_default();
    let name = get(value, &NAMES).and_then(Value::as_str).unwrap_or_default();
    let result = get(value, &TEXTS_OF_RESULTS).map_or_else(|| value.to_string(), words);
    let position = calls
        .iter()
        .rposition(|call| !id.is_empty() && call.id == id)
        .or_else(|| calls.iter().rposition(|call| is_of(call, &id, name)));
    match position {
        Some(position) => calls[position].result = Some(result),
        None if name.is_empty() => {}
        None => {
            add(calls, &json!({ "id": id, "name": name, "result": result }))?;
        }
    }
    Ok(())
}

/// Whether the name alone may match a result with a call.
fn is_of(call: &ToolCall, id: &str, name: &str) -> bool {
    call.name == name && call.result.is_none() && (id.is_empty() || call.id.is_empty())
}

/// The bytes of all texts of the calls.
pub(super) fn bytes(calls: &[ToolCall]) -> usize {
    let size = |call: &ToolCall| {
        call.id.len() + call.name.len() + call.arguments.len() + call.result.as_ref().map_or(0, String::len)
    };
    calls.iter().map(size).sum()
}

const NO_ARGUMENTS: &str = "{}";

fn call_of(value: &Value) -> Result<ToolCall, Trouble> {
    let function = value.get("function").filter(|function| function.is_object());
    let find = |keys: &[&str]| get(value, keys).or_else(|| get(function?, keys));
    let named = value.as_str().or_else(|| find(&NAMES)?.as_str()).or_else(|| value.get("function")?.as_str());
    let Some(name) = named.map(str::to_owned) else {
        return Err(Trouble("a tool call without a name".to_owned()));
    };
    let id = find(&IDS).map(words).unwrap_or_default();
    if name.len().max(id.len()) > MOST_NAME_BYTES {
        return Err(Trouble(format!("a tool call whose name or id has more than {MOST_NAME_BYTES} bytes")));
    }
    Ok(ToolCall {
        id,
        name,
        arguments: find(&ARGUMENTS).map_or_else(|| NO_ARGUMENTS.to_owned(), words),
        result: find(&RESULTS).map(words),
    })
}

fn get<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| value.get(key).filter(|found| !found.is_null()))
}

/// A text unchanged, anything else as JSON.
pub(super) fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(calls: &[Value], results: &[Value]) -> String {
        let mut all = Vec::new();
        calls.iter().for_each(|call| add(&mut all, call).expect("a call"));
        results.iter().for_each(|result| answer(&mut all, result).expect("a result"));
        let shown = |call: &ToolCall| {
            format!("{}:{}{}={}", call.id, call.name, call.arguments, call.result.as_deref().unwrap_or("?"))
        };
        all.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn results_find_their_calls() {
        let (one, two) =
            (json!({ "id": "1", "name": "f", "args": "{}" }), json!({ "toolCallId": "2", "toolName": "f" }));
        let dify = |observation: &str| json!({ "id": "1", "tool": "f;g", "tool_input": r#"{"f": {"a": 1}, "g": {}}"#, "observation": observation });
        let rows: [(&[Value], &[Value], &str); 12] = [
            (&[json!({ "id": "1", "tool": "", "tool_input": "" })], &[], ""),
            (&[dify(""), dify(r#"{"f": "x", "g": "y"}"#)], &[], r#"1:f{"a":1}=x 1:g{}=y"#),
            (&[dify(""), dify("down")], &[], r#"1:f{"a":1}=down 1:g{}=down"#),
            (&[json!({ "id": "1", "tool": "f", "tool_input": r#"{"a": 1}"# })], &[], r#"1:f{"a": 1}=?"#),
            (&[one.clone(), two.clone()], &[], "1:f{}=? 2:f{}=?"),
            (
                &[one.clone(), two.clone()],
                &[
                    json!({ "toolCallId": "2", "output": "b" }),
                    json!({ "tool_call_id": "1", "content": "a", "id": "9" }),
                ],
                "1:f{}=a 2:f{}=b",
            ),
            (std::slice::from_ref(&one), &[json!({ "call_id": "1", "output": { "n": 1 } })], r#"1:f{}={"n":1}"#),
            (std::slice::from_ref(&one), &[json!({ "name": "f", "response": "a" })], "1:f{}=a"),
            (std::slice::from_ref(&one), &[json!({ "name": "g", "result": "a" })], "1:f{}=? :g{}=a"),
            (std::slice::from_ref(&one), &[json!({ "call_id": "7", "result": "a" })], "1:f{}=?"),
            // The same call twice, and two calls with one id.
            (
                &[
                    json!({ "id": "1", "name": "f" }),
                    json!({ "id": "1", "name": "f", "args": { "a": 1 }, "result": 5 }),
                ],
                &[],
                r#"1:f{"a":1}=5"#,
            ),
            (&[one.clone(), json!({ "id": "1", "name": "g" })], &[], "1:f{}=? 1:g{}=?"),
        ];
        for (calls, results, expected) in rows {
            assert_eq!(heard(calls, results), expected, "{calls:?} {results:?}");
        }
    }
}
