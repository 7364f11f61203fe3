//! The tools of a scenario's mocks, with their descriptions.

use serde_json::{Map, Value, json};

use super::Mock;

/// A tool as an agent is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Map<String, Value>,
}

/// One for each service and method, in the order of the mocks.
#[must_use]
pub fn tools(mocks: &[Mock]) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    for mock in mocks {
        let name = mock.tool_name();
        let at = tools.iter().position(|tool| tool.name == name).unwrap_or_else(|| {
            let of_tool = || mocks.iter().filter(|other| other.tool_name() == name);
            let written = of_tool().find_map(|mock| mock.description.clone());
            let parameters = of_tool().find_map(|mock| mock.parameters.clone()).unwrap_or_default();
            let description = written.unwrap_or_else(|| description(mock));
            tools.push(Tool { name: name.clone(), description, parameters });
            tools.len() - 1
        });
        if !is_schema(&tools[at].parameters) {
            note_arguments(mock, &mut tools[at].parameters);
        }
    }
    for tool in tools.iter_mut().filter(|tool| !is_schema(&tool.parameters)) {
        let properties = std::mem::take(&mut tool.parameters);
        tool.parameters.insert("type".to_owned(), json!("object"));
        tool.parameters.insert("properties".to_owned(), Value::Object(properties));
    }
    tools
}

impl Tool {
    /// In the form of OpenAI's `tools`.
    #[must_use]
    pub fn to_openai(&self) -> Value {
        json!({
            "type": "function",
            "function": { "name": self.name, "description": self.description, "parameters": self.parameters },
        })
    }
}

/// Written parameters have the type `object`, which the reader of files puts in.
fn is_schema(parameters: &Map<String, Value>) -> bool {
    parameters.get("type").is_some_and(|kind| kind == "object")
}

fn description(mock: &Mock) -> String {
    match &mock.service {
        Some(service) => format!("{} of {service}", mock.method),
        None => mock.method.clone(),
    }
}

/// Names and types that the conditions show; other arguments are allowed too.
fn note_arguments(mock: &Mock, properties: &mut Map<String, Value>) {
    let Some(when) = &mock.when else { return };
    for (key, value) in when.input.iter().flatten() {
        properties.entry(key.clone()).or_insert_with(|| schema(value));
    }
    let lists = [&when.args, &when.partial_args];
    for first in lists.into_iter().flatten().filter_map(|list| list.first()) {
        match first {
            Value::Object(map) => {
                for (key, value) in map {
                    properties.entry(key.clone()).or_insert_with(|| schema(value));
                }
            }
            _ => {
                let about = json!({ "type": "array", "description": "The arguments in their order." });
                properties.entry("args").or_insert(about);
            }
        }
    }
}

fn schema(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "number" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(_) => json!({ "type": "array" }),
        Value::Object(_) => json!({ "type": "object" }),
    }
}
