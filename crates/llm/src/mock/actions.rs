//! The mock agent's actions: a tool call or an action, if the request offers a suitable one.

use serde_json::{Map, Value};

use crate::{chat::Request, message::FunctionCall};

use super::{chance::Key, words};

#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) tool_calls: Vec<FunctionCall>,
    pub(crate) actions: Vec<String>,
}

/// At most one action per turn: the best tool, or else the action that the plugins suggest.
pub(crate) fn suggested(request: &Request, last: &str, key: Key) -> Deeds {
    if let Some(call) = best_tool(&request.tools, last, key) {
        return Deeds { tool_calls: vec![call], actions: Vec::new() };
    }
    let action = plugin_names(request).find_map(|plugin| plugin_action(plugin, last));
    Deeds { tool_calls: Vec::new(), actions: action.into_iter().map(str::to_owned).collect() }
}

/// (part of the plugin's name, word prefixes that must all occur, the action). More specific rows come first.
const ACTIONS: [(&str, &[&str], &str); 22] = [
    ("github", &["search", "code"], "SEARCH_GITHUB_CODE"),
    ("github", &["search", "issue"], "SEARCH_GITHUB_ISSUES"),
    ("github", &["find", "issue"], "SEARCH_GITHUB_ISSUES"),
    ("github", &["create", "issue"], "CREATE_ISSUE"),
    ("github", &["close", "issue"], "CLOSE_ISSUE"),
    ("github", &["issue"], "LIST_GITHUB_ISSUES"),
    ("github", &["pull"], "LIST_PULL_REQUESTS"),
    ("github", &["read"], "READ_GITHUB_FILE"),
    ("github", &["file"], "READ_GITHUB_FILE"),
    ("coinbase", &["contract"], "READ_CONTRACT"),
    ("coinbase", &["balance"], "CHECK_BALANCE"),
    ("coinbase", &["send"], "SEND_TRANSFER"),
    ("order", &["cancel"], "CANCEL_ORDER"),
    ("order", &["refund"], "ISSUE_REFUND"),
    ("order", &["order"], "GET_ORDER_STATUS"),
    ("order", &["package"], "GET_ORDER_STATUS"),
    ("order", &["parcel"], "GET_ORDER_STATUS"),
    ("billing", &["refund"], "ISSUE_REFUND"),
    ("billing", &["invoice"], "GET_INVOICE"),
    ("calendar", &["cancel"], "CANCEL_APPOINTMENT"),
    ("calendar", &["book"], "BOOK_APPOINTMENT"),
    ("calendar", &["appointment"], "BOOK_APPOINTMENT"),
];

fn plugin_action(plugin: &str, last: &str) -> Option<&'static str> {
    ACTIONS
        .iter()
        .find(|(name, starts, _)| {
            words::contains_ignoring_case(plugin, name) && starts.iter().all(|start| words::mentions(last, &[start]))
        })
        .map(|(_, _, action)| *action)
}

/// Plugins are names or objects with a name; disabled ones do nothing.
fn plugin_names(request: &Request) -> impl Iterator<Item = &str> {
    let plugins = request.extra.get("plugins").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    plugins.iter().filter_map(|plugin| match plugin {
        Value::String(name) => Some(name.as_str()),
        Value::Object(fields) if fields.get("enabled") != Some(&Value::Bool(false)) => fields.get("name")?.as_str(),
        _ => None,
    })
}

/// The tool whose name shares most words with the message; `None` if no word is shared.
fn best_tool(tools: &[Value], last: &str, key: Key) -> Option<FunctionCall> {
    let mut best: Option<(usize, &Value, &str)> = None;
    for tool in tools {
        let function = tool.get("function").unwrap_or(tool);
        let Some(name) = function.get("name").and_then(Value::as_str) else { continue };
        let score = name_words(name).filter(|part| words::mentions(last, &[part.as_str()])).count();
        if score > best.map_or(0, |(known, _, _)| known) {
            best = Some((score, function, name));
        }
    }
    let (_, function, name) = best?;
    Some(FunctionCall {
        id: format!("call_{:016x}", key.text(name).value()),
        name: name.to_owned(),
        arguments: Value::Object(arguments(function, last)).to_string(),
    })
}

/// `get_orderStatus` is `get`, `order`, `status`; short parts such as `of` and `get` are ignored.
fn name_words(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        let known = parts.last().is_some_and(|part| !part.is_empty());
        if !c.is_alphanumeric() || c.is_uppercase() && name.chars().any(char::is_lowercase) && known {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
    }
    parts.into_iter().filter(|part| part.len() > 3)
}

/// Each required parameter gets a word of the message that fits its type.
fn arguments(function: &Value, last: &str) -> Map<String, Value> {
    let parameters = function.get("parameters");
    let Some(properties) = parameters.and_then(|schema| schema.get("properties")).and_then(Value::as_object) else {
        return Map::new();
    };
    let required = parameters.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    properties
        .iter()
        .filter(|(name, _)| required.is_none_or(|names| names.iter().any(|known| known == name.as_str())))
        .map(|(name, schema)| (name.clone(), argument(schema, last)))
        .collect()
}

fn argument(schema: &Value, last: &str) -> Value {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array).filter(|choices| !choices.is_empty()) {
        let said = |choice: &&Value| choice.as_str().is_some_and(|text| words::contains_ignoring_case(last, text));
        return choices.iter().find(said).unwrap_or(&choices[0]).clone();
    }
    let identifier = words::words(last).find(|word| word.bytes().any(|byte| byte.is_ascii_digit()));
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => {
            let digits: String = identifier.unwrap_or("1").chars().filter(char::is_ascii_digit).collect();
            Value::from(digits.parse::<i64>().unwrap_or(1))
        }
        Some("boolean") => Value::Bool(true),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Map::new()),
        _ => Value::from(identifier.or_else(|| words::salient(last, 8).pop()).unwrap_or("unknown")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plugins_suggest_actions() {
        let rows = [
            (json!(["@elizaos/plugin-github"]), "List open issues for elizaOS/eliza", Some("LIST_GITHUB_ISSUES")),
            (json!([{ "name": "@elizaos/plugin-github" }]), "Create an issue on Github", Some("CREATE_ISSUE")),
            (json!([{ "name": "@elizaos/plugin-github", "enabled": false }]), "List open issues", None),
            (
                json!(["@elizaos/plugin-sql", "@elizaos/plugin-orders"]),
                "Where is my order 1?",
                Some("GET_ORDER_STATUS"),
            ),
            (json!(["@elizaos/plugin-orders"]), "Good morning", None),
            (json!("nonsense"), "List open issues", None),
        ];
        for (plugins, last, expected) in rows {
            let mut request = Request::default();
            request.extra.insert("plugins".to_owned(), plugins);
            let deeds = suggested(&request, last, Key::new(1));
            assert_eq!(deeds.actions, expected.into_iter().collect::<Vec<_>>(), "{last}");
        }
    }

    #[test]
    fn the_best_tool_is_called_with_words_of_the_message() {
        let tool = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "parameters": parameters } });
        let request = Request {
            tools: vec![
                tool("get_weather", json!({ "properties": { "city": { "type": "string" } } })),
                tool(
                    "getOrderStatus",
                    json!({
                        "properties": { "order_id": { "type": "integer" }, "note": { "type": "string" } },
                        "required": ["order_id"]
                    }),
                ),
                json!("not a tool"),
            ],
            ..Request::default()
        };
        let called = |last: &str| suggested(&request, last, Key::new(1)).tool_calls;
        let order = called("What is the status of order 4711?");
        assert_eq!((order[0].name.as_str(), order[0].arguments.as_str()), ("getOrderStatus", r#"{"order_id":4711}"#));
        let weather = called("How is the weather in Gothenburg?");
        assert_eq!(
            (weather[0].name.as_str(), weather[0].arguments.as_str()),
            ("get_weather", r#"{"city":"Gothenburg"}"#)
        );
        assert!(called("Good morning").is_empty());
    }
}
