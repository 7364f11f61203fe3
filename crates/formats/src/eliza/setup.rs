//! `plugins` and `setup.mocks`: the agent's plugins, and the answers to its tool calls.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use scenario::{
    Plugin,
    mock::{Mock, MockError, When, expression::Expression, state},
    question::REQUEST,
};
use yaml::bounded::{Millis, Share, Status, Words};
use yaml::{Findings, Part};

/// A plugin with all its keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Plugin")]
pub(crate) struct PluginFields {
    /// The package's name, such as `@elizaos/plugin-bootstrap`.
    name: Words,
    /// The package's version.
    version: Option<String>,
    /// Passed to the plugin unchanged.
    #[serde(default)]
    config: Map<String, Value>,
    /// Whether the agent starts with the plugin.
    #[serde(default = "yes")]
    enabled: bool,
}

/// A plugin: its name, or all about it.
#[derive(Debug)]
pub(crate) struct PluginDocument;

impl JsonSchema for PluginDocument {
    fn schema_name() -> Cow<'static, str> {
        "PluginReference".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<PluginFields>();
        json_schema!({ "oneOf": [{ "type": "string", "minLength": 1 }, fields] })
    }
}

/// The scripted answer to one kind of tool call.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Mock")]
pub(crate) struct MockDocument {
    /// The service of the call. The default is any service.
    service: Option<String>,
    /// The method of the call.
    method: Words,
    /// The conditions for this answer. All of them must hold.
    when: Option<WhenDocument>,
    /// The answer.
    #[serde(default)]
    response: Value,
    /// An expression that makes the answer.
    #[serde(rename = "responseFn")]
    response_fn: Option<String>,
    /// An error to answer instead.
    error: Option<MockErrorDocument>,
    /// How the mock answers.
    #[serde(default)]
    metadata: MetadataDocument,
    /// What the tool does, for models. The first description among the mocks of a tool counts.
    description: Option<String>,
    /// A JSON Schema of the tool's arguments, for models. The first one among the mocks of a tool counts. By default, it follows
    /// from the conditions.
    parameters: Option<Map<String, Value>>,
    /// Changes of the state that a successful call makes: paths such as `orders.7.status`, and their new values. Paths and
    /// values can contain `{{…}}`.
    #[serde(default)]
    set: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "When")]
pub(crate) struct WhenDocument {
    /// The whole list of arguments.
    args: Option<Vec<Value>>,
    /// Named arguments that must be equal.
    input: Option<Map<String, Value>>,
    /// Values that the call's context must have.
    context: Option<Map<String, Value>>,
    /// An expression over `args`, `input`, `context` and `state`.
    matcher: Option<String>,
    /// The first arguments.
    #[serde(rename = "partialArgs")]
    partial_args: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MockError")]
pub(crate) struct MockErrorDocument {
    /// An error code, such as `API_ERROR`.
    code: String,
    /// A description for people.
    message: String,
    /// An HTTP status.
    status: Option<Status>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "MockMetadata")]
pub(crate) struct MetadataDocument {
    /// The delay of the answer, in milliseconds.
    delay: Option<Millis>,
    /// The probability that the call fails, 0 to 1.
    probability: Option<Share>,
}

pub(super) fn plugins(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Plugin> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut plugins = Vec::new();
    for part in parts {
        let Some(plugin) = plugin(part, findings) else { continue };
        let spot = if part.value().is_string() { part.spot() } else { part.spot_of("name") };
        if let Some(first) = seen.get(&plugin.name) {
            findings.error(spot, format!("the plugin `{}` is a duplicate; the first is on line {first}", plugin.name));
            continue;
        }
        // This one is not the agent's: it holds the context of a knowledge base's question.
        if !is_package(&plugin.name) && plugin.name != REQUEST {
            findings.warning(spot, format!("`{}` is not the name of an ElizaOS plugin", plugin.name));
            findings.help("ElizaOS accepts names such as `@elizaos/plugin-github`; other agents can use other names");
        }
        seen.insert(plugin.name.clone(), part.line());
        plugins.push(plugin);
    }
    plugins
}

/// `has_state`: whether the scenario's mocks keep a state.
pub(super) fn mocks(parts: &[Part<'_>], has_state: bool, findings: &mut Findings) -> Vec<Mock> {
    let decoded = parts.iter().filter_map(|part| {
        let mock = part.decode::<MockDocument>(findings)?.into_mock();
        check_expressions(part, &mock, findings);
        check_state(part, &mock, has_state, findings);
        if part.get("parameters").and_then(|written| written.get("type")).is_some_and(|kind| kind.value() != "object") {
            findings.error(part.spot_of("parameters"), "`parameters` is not the schema of an object");
            findings.help("as in `{type: object, properties: {id: {type: string}}, required: [id]}`");
        }
        Some(mock)
    });
    decoded.collect()
}

fn check_expressions(part: &Part<'_>, mock: &Mock, findings: &mut Findings) {
    let matcher = mock.when.as_ref().and_then(|when| when.matcher.as_deref());
    let matcher = matcher.and_then(|text| Expression::matcher(text).err());
    let response = mock.response_fn.as_deref().and_then(|text| Expression::response(text).err());
    let spot = part.get("when").map_or(part.spot(), |when| when.spot_of("matcher"));
    let found = [("matcher", spot, matcher), ("responseFn", part.spot_of("responseFn"), response)];
    for (key, spot, error) in found {
        let Some(error) = error else { continue };
        findings.error(spot, format!("`{key}` is not a supported expression: {error}"));
        findings.help("supported: comparisons, && || ! ?:, arithmetic, texts and their methods, lists and objects over args, input, context and state; see docs/mocks.md");
    }
}

fn check_state(part: &Part<'_>, mock: &Mock, has_state: bool, findings: &mut Findings) {
    if !has_state {
        if !mock.set.is_empty() {
            findings.error(part.key_spot("set"), "`set` changes a state that the scenario does not have");
            findings.help("write the state at the start of a trial: `gabfest: {state: {…}}`");
        }
        return;
    }
    let paths = mock.set.iter().map(|(path, _)| Value::from(path.as_str()));
    let of_set = mock.set.iter().map(|(_, value)| value.clone()).chain(paths).flat_map(|value| state::faults(&value));
    let of_response = state::faults(&mock.response);
    let all = of_set.map(|error| ("set", error)).chain(of_response.into_iter().map(|error| ("response", error)));
    for (key, error) in all {
        findings.error(part.spot_of(key), format!("`{{{{…}}}}` is not a supported expression: {error}"));
        findings.help("as in `{{state.orders[input.id].status}}`; see docs/mocks.md");
    }
}

/// Reports `mock_state` where no mock keeps or changes a state. `step`: one element of `run`.
pub(super) fn check_mock_states(step: &Part<'_>, has_state: bool, mocks: &[Mock], findings: &mut Findings) {
    let conversation = step.get("conversation");
    let of_conversation = ["turn_evaluations", "final_evaluations"]
        .into_iter()
        .flat_map(|key| conversation.iter().flat_map(move |conversation| conversation.items_of(key)));
    for check in step.items_of("evaluations").into_iter().chain(of_conversation) {
        if check.get("type").is_none_or(|kind| kind.value() != "mock_state") {
            continue;
        }
        if !has_state {
            findings.error(check.spot_of("type"), "`mock_state` looks at a state that the scenario does not have");
            findings.help("write the state at the start of a trial: `gabfest: {state: {…}}`");
        } else if mocks.is_empty() {
            findings.error(check.spot_of("type"), "`mock_state` looks at a state that nothing changes");
            findings.help("write the mock that changes it: `setup: {mocks: [{method: …, set: {…}}]}`");
        }
    }
}

impl MockDocument {
    fn into_mock(self) -> Mock {
        Mock {
            service: self.service,
            method: self.method.0,
            when: self.when.map(|when| When {
                args: when.args,
                input: when.input,
                context: when.context,
                matcher: when.matcher,
                partial_args: when.partial_args,
            }),
            response: self.response,
            response_fn: self.response_fn,
            error: self.error.map(|error| MockError {
                code: error.code,
                message: error.message,
                status: error.status.map(|status| status.0),
            }),
            delay_ms: self.metadata.delay.map_or(0, |delay| delay.0),
            failure_probability: self.metadata.probability.map_or(0.0, |share| share.0),
            description: self.description,
            parameters: self.parameters.map(|mut schema| {
                schema.entry("type").or_insert_with(|| "object".into());
                schema
            }),
            set: self.set.into_iter().collect(),
        }
    }
}

fn plugin(part: &Part<'_>, findings: &mut Findings) -> Option<Plugin> {
    match part.value() {
        Value::String(name) if name.trim().is_empty() => {
            findings.error(part.spot(), "expected the name of a plugin as text");
            None
        }
        Value::String(name) => {
            Some(Plugin { name: name.clone(), version: None, enabled: true, config: Value::Object(Map::new()) })
        }
        _ => {
            let fields = part.decode::<PluginFields>(findings)?;
            Some(Plugin {
                name: fields.name.0,
                version: fields.version,
                enabled: fields.enabled,
                config: Value::Object(fields.config),
            })
        }
    }
}

fn is_package(name: &str) -> bool {
    name.strip_prefix("@elizaos/plugin-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}

fn yes() -> bool {
    true
}
