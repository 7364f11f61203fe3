//! Finds the parameter that a server refuses, and the line of the settings that leaves it out.

use ::http::StatusCode;
use serde_json::{Map, Value};

use super::SchemaMode;

/// How servers say that a parameter is none of theirs, or that its value cannot be chosen.
const REFUSALS: [&str; 11] = [
    "unsupported",
    "not support",
    "n't support",
    "unrecognized",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "deprecated",
    "extra_forbidden",
    "invalid parameter",
];

/// Keys of every body that are no parameters.
const SUBSTANCE: [&str; 3] = ["messages", "model", "input"];

/// The parameter of `sent` that an answer refuses to take, where that is what it says.
pub(super) fn parameter<'a>(status: StatusCode, body: &[u8], sent: &'a Map<String, Value>) -> Option<&'a str> {
    if !matches!(status.as_u16(), 400 | 422) {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    let folded = text.to_lowercase();
    if !REFUSALS.iter().any(|refusal| folded.contains(refusal)) {
        return None;
    }
    let parameters = sent.keys().map(String::as_str).filter(|key| !SUBSTANCE.contains(key));
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let told = value.as_ref().and_then(|value| value.pointer("/error/param").or_else(|| value.get("param")));
    if let Some(told) = told.and_then(Value::as_str) {
        return parameters.into_iter().find(|name| *name == told);
    }
    parameters.filter_map(|name| Some((mention(&text, name)?, name))).min().map(|(_, name)| name)
}

/// The line of the endpoint's settings with which the parameter is sent no more, or under its other name; `None` where
/// no setting of the endpoint does that.
pub(super) fn line(parameter: &str, schema_mode: SchemaMode) -> Option<String> {
    match (parameter, schema_mode) {
        ("tools", _) => None,
        ("max_tokens", _) => Some("max_tokens_key: max_completion_tokens".to_owned()),
        ("max_completion_tokens", _) => Some("max_tokens_key: max_tokens".to_owned()),
        ("response_format", SchemaMode::JsonSchema) => Some("schema_mode: json_object".to_owned()),
        ("response_format", _) => Some("schema_mode: none".to_owned()),
        ("stream", _) => Some("stream: false".to_owned()),
        (name, _) => Some(format!("params: {{{name}: null}}")),
    }
}

/// Where a text names a parameter: as a whole word, and a word that people use too only in quotes or before a colon.
fn mention(text: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let whole = !before.is_some_and(is_part) && !after.is_some_and(is_part);
        let quoted = before.is_some_and(|letter| matches!(letter, '\'' | '"' | '`')) && after == before;
        let labelled = after == Some(':') || (before == Some(' ') && text[..at - 1].ends_with(':'));
        whole && (quoted || labelled || name.contains('_'))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_servers_say_of_a_parameter() {
        let sent = json!({
            "model": "m", "messages": [], "temperature": 0, "max_tokens": 9, "seed": 1, "response_format": {}, "stream": true,
            "tools": [], "reasoning_effort": "low",
        });
        let sent = sent.as_object().expect("an object");
        let rows = [
            (
                json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "param": "max_tokens", "code": "unsupported_parameter"}}),
                Some(("max_tokens", "max_tokens_key: max_completion_tokens")),
            ),
            (
                json!({"error": {"message": "Unsupported value: 'temperature' does not support 0.7 with this model.", "param": "temperature", "code": "unsupported_value"}}),
                Some(("temperature", "params: {temperature: null}")),
            ),
            (
                json!({"error": {"message": "Unrecognized request argument supplied: seed", "param": null, "code": null}}),
                Some(("seed", "params: {seed: null}")),
            ),
            (
                json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),
                Some(("seed", "params: {seed: null}")),
            ),
            (
                json!({"type": "error", "error": {"message": "`temperature` is deprecated for this model."}}),
                Some(("temperature", "params: {temperature: null}")),
            ),
            (
                json!({"error": {"message": "temperature: Extra inputs are not permitted"}}),
                Some(("temperature", "params: {temperature: null}")),
            ),
            (
                json!({"error": {"message": "response_format is not supported"}}),
                Some(("response_format", "schema_mode: json_object")),
            ),
            (
                json!({"error": {"message": "Unsupported parameter: 'reasoning_effort'"}}),
                Some(("reasoning_effort", "params: {reasoning_effort: null}")),
            ),
            // None of these is about a parameter of ours.
            (json!({"error": {"message": "Unsupported parameter: 'store'", "param": "store"}}), None),
            (
                json!({"error": {"message": "This model's maximum context length is 4096 tokens", "param": "messages"}}),
                None,
            ),
            (json!({"error": {"message": "max_tokens is too large: 2000", "param": "max_tokens"}}), None),
            (json!({"error": {"message": "the seed of all evil is unknown"}}), None),
            (json!({"error": {"message": "no such model"}}), None),
        ];
        for (body, expected) in rows {
            let found = parameter(StatusCode::BAD_REQUEST, body.to_string().as_bytes(), sent);
            let found = found.map(|name| (name, line(name, SchemaMode::JsonSchema).expect("a line")));
            assert_eq!(found, expected.map(|(name, line)| (name, line.to_owned())), "{body}");
        }
        let other = json!({"error": {"message": "Unsupported parameter: 'seed'"}}).to_string();
        assert_eq!(parameter(StatusCode::UNAUTHORIZED, other.as_bytes(), sent), None);
    }
}
