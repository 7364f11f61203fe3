//! Writes a scenario of any format as `*.scenario.yaml`, which reads back as the same scenario.
//!
//! Defaults are left out.

mod check;
mod map;

use serde_json::{Map, Value, json};

use self::map::{plain, put, put_list, put_map};
use super::step::INPUT_TIMEOUT_MS;
use scenario::{
    Action, Conversation, History, Message, OnFailure, Plugin, Scenario, Step, Strategy,
    conversation::Stop,
    format::Script,
    message::{Part, Speaker},
    mock::Mock,
    plan::Axis,
};

/// What a scenario file cannot express.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    #[error("a battery cannot be converted: `*.battery.yaml` is gabfest's own format")]
    Battery,
    #[error("cannot be written as YAML")]
    Yaml(#[source] yaml::WriteError),
}

/// The text of a scenario file.
///
/// # Errors
/// The scenario holds a battery.
pub fn write(script: &Script) -> Result<String, Unwritable> {
    let scenario = &script.scenario;
    let mut root = Map::new();
    root.insert("name".to_owned(), json!(scenario.name));
    root.insert("description".to_owned(), json!(scenario.description));
    put_list(&mut root, "plugins", scenario.plugins.iter().map(plugin).collect());
    let mut setup = Map::new();
    put_list(&mut setup, "mocks", scenario.mocks.iter().map(mock).collect());
    if !scenario.environment.files.is_empty() {
        setup.insert("virtual_fs".to_owned(), json!(scenario.environment.files));
    }
    put_map(&mut root, "setup", setup);
    let steps = scenario.steps.iter().map(step).collect::<Result<Vec<_>, _>>()?;
    root.insert("run".to_owned(), Value::Array(steps));
    let strategy = match scenario.strategy {
        Strategy::AllPass => "all_pass",
        Strategy::AnyPass => "any_pass",
    };
    root.insert("judgment".to_owned(), json!({ "strategy": strategy }));
    put_map(&mut root, "gabfest", ours(script, scenario));
    yaml::write(&Value::Object(root)).map_err(Unwritable::Yaml)
}

/// The text of a matrix file.
///
/// # Errors
/// A value cannot be written.
pub fn write_matrix(name: &str, base_scenario: &str, axes: &[Axis]) -> Result<String, Unwritable> {
    let axes: Vec<Value> =
        axes.iter().map(|axis| json!({ "parameter": axis.parameter, "values": axis.values })).collect();
    let matrix = json!({ "name": name, "base_scenario": base_scenario, "matrix": axes });
    yaml::write(&matrix).map_err(Unwritable::Yaml)
}

fn ours(script: &Script, scenario: &Scenario) -> Map<String, Value> {
    let mut ours = Map::new();
    put_list(&mut ours, "personas", script.personas.iter().map(|name| json!(name)).collect());
    put_list(&mut ours, "tags", scenario.tags.iter().map(|tag| json!(tag)).collect());
    put(&mut ours, "weight", (scenario.weight != 1.0).then(|| json!(scenario.weight)));
    put(&mut ours, "required_pass_rate", scenario.required_pass_rate.map(|share| json!(share)));
    put(&mut ours, "required_score", scenario.required_score.map(|share| json!(share)));
    put(&mut ours, "repeats", script.repeats.map(|repeats| json!(repeats)));
    put_list(&mut ours, "opening", scenario.opening.iter().map(message).collect());
    put(&mut ours, "on_failure", (scenario.on_failure == OnFailure::Stop).then(|| json!("stop")));
    put(&mut ours, "history", (scenario.history == History::Expected).then(|| json!("expected")));
    put(&mut ours, "expect_failure", scenario.expect_failure.then(|| json!(true)));
    let databases = scenario.environment.databases.iter().map(|seeding| {
        let files: Vec<Value> =
            seeding.files.iter().map(|(path, text)| json!({ "path": path, "text": text })).collect();
        json!({ "connection": seeding.connection, "files": files })
    });
    put_list(&mut ours, "database", databases.collect());
    put(&mut ours, "think_time", scenario.pauses.think_time.map(|time| json!(time)));
    put(&mut ours, "typing_speed", scenario.pauses.typing_speed.map(|speed| json!(speed)));
    put(&mut ours, "vars", (!scenario.vars.is_empty()).then(|| json!(scenario.vars)));
    put(&mut ours, "state", (!scenario.environment.state.is_null()).then(|| scenario.environment.state.clone()));
    ours
}

fn plugin(plugin: &Plugin) -> Value {
    let config = plugin.config.as_object().filter(|config| !config.is_empty());
    if plugin.version.is_none() && plugin.enabled && config.is_none() {
        return json!(plugin.name);
    }
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(plugin.name));
    put(&mut map, "version", plugin.version.as_ref().map(|version| json!(version)));
    put(&mut map, "config", config.map(|config| json!(config)));
    put(&mut map, "enabled", (!plugin.enabled).then(|| json!(false)));
    Value::Object(map)
}

fn mock(mock: &Mock) -> Value {
    let mut map = Map::new();
    put(&mut map, "service", mock.service.as_ref().map(|service| json!(service)));
    map.insert("method".to_owned(), json!(mock.method));
    if let Some(when) = &mock.when {
        let mut conditions = Map::new();
        put(&mut conditions, "args", when.args.as_ref().map(|args| json!(args)));
        put(&mut conditions, "input", when.input.as_ref().map(|input| json!(input)));
        put(&mut conditions, "context", when.context.as_ref().map(|context| json!(context)));
        put(&mut conditions, "matcher", when.matcher.as_ref().map(|matcher| json!(matcher)));
        put(&mut conditions, "partialArgs", when.partial_args.as_ref().map(|args| json!(args)));
        map.insert("when".to_owned(), Value::Object(conditions));
    }
    put(&mut map, "response", (!mock.response.is_null()).then(|| mock.response.clone()));
    put(&mut map, "responseFn", mock.response_fn.as_ref().map(|code| json!(code)));
    put(&mut map, "error", mock.error.as_ref().map(plain));
    let mut metadata = Map::new();
    put(&mut metadata, "delay", (mock.delay_ms > 0).then(|| json!(mock.delay_ms)));
    put(&mut metadata, "probability", (mock.failure_probability > 0.0).then(|| json!(mock.failure_probability)));
    put_map(&mut map, "metadata", metadata);
    put(&mut map, "description", mock.description.as_ref().map(|text| json!(text)));
    put(&mut map, "parameters", mock.parameters.as_ref().map(|schema| json!(schema)));
    put_map(&mut map, "set", mock.set.iter().cloned().collect());
    Value::Object(map)
}

fn step(step: &Step) -> Result<Value, Unwritable> {
    let mut map = Map::new();
    put(&mut map, "name", step.name.as_ref().map(|name| json!(name)));
    match &step.action {
        Action::Say { messages, expected, timeout_ms } => say(&mut map, messages, expected.as_ref(), *timeout_ms),
        Action::Converse(conversation) => {
            map.insert("input".to_owned(), json!(conversation.opening_line));
            map.insert("conversation".to_owned(), converse(conversation));
        }
        Action::Execute { language, code } => {
            map.insert("lang".to_owned(), json!(language));
            map.insert("code".to_owned(), json!(code));
        }
        Action::Examine(_) => return Err(Unwritable::Battery),
    }
    put_list(&mut map, "evaluations", check::write_all(&step.checks));
    Ok(Value::Object(map))
}

/// A single last text of the user is `input`; everything else goes under `gabfest`.
fn say(map: &mut Map<String, Value>, messages: &[Message], expected: Option<&Message>, timeout_ms: u64) {
    let (input, before) = match messages.split_last() {
        Some((last, before)) => match text_of(last, Speaker::User) {
            Some(text) => (Some(text), before),
            None => (None, messages),
        },
        None => (None, messages),
    };
    let answer = expected.and_then(|message| text_of(message, Speaker::Agent));
    put(map, "input", input.map(|text| json!(text)));
    put(map, "expected", answer.map(|text| json!(text)));
    let mut ours = Map::new();
    if !before.is_empty() || input.is_none() {
        ours.insert("messages".to_owned(), before.iter().map(message).collect());
    }
    put(&mut ours, "expected", expected.filter(|_| answer.is_none()).map(message));
    put(&mut ours, "timeout_ms", (timeout_ms != INPUT_TIMEOUT_MS).then(|| json!(timeout_ms)));
    put_map(map, "gabfest", ours);
}

fn converse(conversation: &Conversation) -> Value {
    let mut map = Map::new();
    map.insert("max_turns".to_owned(), json!(conversation.max_turns));
    map.insert("timeout_per_turn_ms".to_owned(), json!(conversation.turn_timeout_ms));
    map.insert("total_timeout_ms".to_owned(), json!(conversation.total_timeout_ms));
    map.insert("user_simulator".to_owned(), plain(&conversation.simulator));
    put_list(&mut map, "termination_conditions", conversation.stops.iter().map(stop).collect());
    put_list(&mut map, "turn_evaluations", check::write_all(&conversation.turn_checks));
    put_list(&mut map, "final_evaluations", check::write_all(&conversation.final_checks));
    if conversation.debug != Default::default() {
        map.insert("debug_options".to_owned(), plain(&conversation.debug));
    }
    Value::Object(map)
}

fn stop(stop: &Stop) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!(stop.condition));
    put(&mut map, "description", stop.description.as_ref().map(|description| json!(description)));
    put(&mut map, "keywords", stop.keywords.as_ref().map(|keywords| json!(keywords)));
    put(&mut map, "llm_judge", stop.judge.as_ref().map(plain));
    put(&mut map, "gabfest", stop.hook.as_ref().map(|hook| json!({ "hook": hook })));
    Value::Object(map)
}

fn message(message: &Message) -> Value {
    if let [Part::Text(text)] = message.parts.as_slice() {
        return json!({ "speaker": message.speaker, "text": text });
    }
    json!({ "speaker": message.speaker, "parts": message.parts })
}

/// Of a message that is one text of this speaker.
fn text_of(message: &Message, speaker: Speaker) -> Option<&str> {
    match message.parts.as_slice() {
        [Part::Text(text)] if message.speaker == speaker => Some(text),
        _ => None,
    }
}
