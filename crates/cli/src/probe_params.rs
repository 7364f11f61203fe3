//! Finds the parameters that an endpoint accepts, for `gabfest models probe`: asks, and removes each refused parameter.

use std::time::Duration;

use llm::{
    Message,
    chat::{Finish, Request},
    dialect::SchemaMode,
    endpoint::{Endpoint, Kind, Retries, Settings},
    retry::Policy,
};
use record::{Role, call::Spend};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

/// Each costs money.
const MOST_CALLS: usize = 10;

/// The least that a judge asks for, with room for some reasoning.
const MAX_TOKENS: u32 = 1_000;

/// The suggestion for models that reason.
const RESERVE: u32 = 4_096;

/// Removed one by one if a server refuses a call without saying why.
const SUSPECTS: [&str; 4] = ["seed", "temperature", "response_format", "max_tokens"];

/// The result of a probe.
pub(crate) struct Probed {
    /// The settings with which the last call was answered, or refused.
    pub(crate) settings: Settings,
    pub(crate) calls: usize,
    pub(crate) spend: Spend,
    /// Why no call was answered.
    pub(crate) error: Option<llm::Error>,
}

pub(crate) async fn probe(name: &str, written: &Settings, patience: Duration) -> Result<Probed, llm::endpoint::Error> {
    let once = Retries { tries: 1, ..written.retries };
    let mut probed = Probed {
        settings: Settings { retries: once, ..written.clone() },
        calls: 0,
        spend: Spend::default(),
        error: None,
    };
    // The parameters from before a suspect was removed: only one of them is the culprit.
    let mut suspects = SUSPECTS.iter();
    let mut unsuspected: Option<Settings> = None;
    while probed.calls < MOST_CALLS {
        let model = Endpoint::open(name, &probed.settings)?.chat(Policy::model());
        let began = Instant::now();
        let answer = model.call(&request(patience)).await;
        probed.calls += 1;
        let receipt = answer.as_ref().map(|reply| &*reply.receipt);
        probed.spend.add(&worker::spent::on_model(Role::Judge, &*model, receipt, began.elapsed()));
        let error = match answer {
            Ok(reply) => {
                let reasons = reply.receipt.usage.reasoning > 0 || !reply.notes.is_empty();
                let is_starved = reply.finish == Finish::Length && reply.text.trim().is_empty();
                if (reasons || is_starved) && probed.settings.reasoning_reserve == 0 {
                    probed.settings.reasoning_reserve = RESERVE;
                }
                probed.error = None;
                break;
            }
            Err(failed) => failed.error,
        };
        let goes_on = match &error {
            llm::Error::Unsupported { parameter, .. } => leave_out(&mut probed.settings, parameter),
            llm::Error::Refused { status: 400 | 422, message, .. } if wants_developer(message, &probed.settings) => {
                probed.settings.system_role = llm::endpoint::SystemRole::Developer;
                true
            }
            llm::Error::Refused { status: 400 | 422, .. } => {
                let before = unsuspected.get_or_insert_with(|| probed.settings.clone()).clone();
                suspects.next().is_some_and(|suspect| {
                    probed.settings = before;
                    leave_out(&mut probed.settings, suspect)
                })
            }
            _ => false,
        };
        probed.error = Some(error);
        if !goes_on {
            break;
        }
    }
    probed.settings.retries = written.retries;
    Ok(probed)
}

/// As a judge asks: everything that gabfest sends of itself.
fn request(patience: Duration) -> Request {
    let schema = json!({
        "type": "object", "properties": { "answer": { "type": "string" } }, "required": ["answer"],
        "additionalProperties": false,
    });
    let mut request = Request {
        messages: vec![
            Message::system("Answer with a JSON object and nothing else."),
            Message::user("Answer with the JSON object {\"answer\": \"ok\"}."),
        ],
        temperature: Some(0.0),
        max_tokens: Some(MAX_TOKENS),
        seed: Some(1),
        schema: Some(schema),
        timeout: Some(patience),
        ..Request::default()
    };
    Role::Judge.name().clone_into(&mut request.context.role);
    request
}

fn wants_developer(message: &str, settings: &Settings) -> bool {
    let is_usual = settings.system_role == llm::endpoint::SystemRole::default();
    settings.kind == Kind::Openai && is_usual && message.contains("developer")
}

/// Leaves a parameter out of the next call, or writes it otherwise; whether that is another call than before.
fn leave_out(settings: &mut Settings, parameter: &str) -> bool {
    let before = settings.clone();
    let name = parameter.rsplit('.').next().unwrap_or(parameter);
    let is_schema = ["response_format", "output_config", "format", "text", "responseJsonSchema", "responseMimeType"];
    match (parameter, settings.schema_mode) {
        ("max_tokens", _) if settings.kind == Kind::Openai && settings.max_tokens_key == "max_tokens" => {
            "max_completion_tokens".clone_into(&mut settings.max_tokens_key);
        }
        ("max_completion_tokens", _) if settings.max_tokens_key == parameter && settings.kind == Kind::Openai => {
            "max_tokens".clone_into(&mut settings.max_tokens_key);
        }
        (_, SchemaMode::None) if is_schema.contains(&name) => {}
        (_, SchemaMode::JsonSchema | SchemaMode::Strict)
            if is_schema.contains(&name) && settings.kind != Kind::Anthropic =>
        {
            settings.schema_mode = SchemaMode::JsonObject;
        }
        (_, _) if is_schema.contains(&name) => settings.schema_mode = SchemaMode::None,
        ("stream", _) => settings.stream = false,
        _ => take_out(&mut settings.params, parameter),
    }
    *settings != before
}

/// Sets a parameter to `null`; it may be in a group: `generationConfig.seed`.
fn take_out(params: &mut Map<String, Value>, parameter: &str) {
    match parameter.split_once('.') {
        Some((group, name)) => {
            let inner = params.entry(group).or_insert_with(|| json!({}));
            if let Some(inner) = inner.as_object_mut() {
                take_out(inner, name);
            }
        }
        None => {
            params.insert(parameter.to_owned(), Value::Null);
        }
    }
}

/// The lines that differ from the written settings, as the block of the endpoint; `None` if none does.
pub(crate) fn block(name: &str, written: &Settings, found: &Settings) -> Option<String> {
    let mut lines = Vec::new();
    let mut line = |is_new: bool, text: String| {
        if is_new {
            lines.push(text);
        }
    };
    line(found.max_tokens_key != written.max_tokens_key, format!("max_tokens_key: {}", found.max_tokens_key));
    line(found.params != written.params, format!("params: {}", flow(&Value::Object(found.params.clone()))));
    line(found.schema_mode != written.schema_mode, format!("schema_mode: {}", word(&json!(found.schema_mode))));
    line(found.system_role != written.system_role, format!("system_role: {}", word(&json!(found.system_role))));
    line(found.stream != written.stream, format!("stream: {}", found.stream));
    let reserve = found.reasoning_reserve;
    line(reserve != written.reasoning_reserve, format!("reasoning_reserve: {reserve}"));
    let text: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    (!lines.is_empty()).then(|| format!("endpoints:\n  {name}:\n{text}"))
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// YAML on one line: JSON with plain keys.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}
