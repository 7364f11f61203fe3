//! Finds the parameter that a server refuses in its error message.

use ::http::StatusCode;
use serde_json::{Map, Value};

/// How servers say that they do not know a parameter, or do not accept its value.
const REFUSALS: [&str; 12] = [
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
    "must be one of",
];

/// Keys of every body that are no parameters.
const SUBSTANCE: [&str; 6] = ["messages", "model", "input", "contents", "system", "instructions"];

/// The parameter of `sent` that an answer refuses, if it refuses one. A parameter of one of the `groups` includes its
/// group: `generationConfig.seed`.
pub(crate) fn parameter(status: StatusCode, body: &[u8], sent: &Map<String, Value>, groups: &[&str]) -> Option<String> {
    if !matches!(status.as_u16(), 400 | 422) {
        return None;
    }
    // Quotes within a JSON text are escaped.
    let text = String::from_utf8_lossy(body).replace("\\\"", "\"");
    let folded = text.to_lowercase();
    if !REFUSALS.iter().any(|refusal| folded.contains(refusal)) {
        return None;
    }
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let named = value.as_ref().and_then(|value| value.pointer("/error/param").or_else(|| value.get("param")));
    let named = named.and_then(Value::as_str);
    let found = parameters(sent, groups).filter_map(|(group, name)| {
        let at = match named {
            Some(named) => (named.rsplit('.').next() == Some(name)).then_some(0)?,
            None => mention(&text, name)?,
        };
        Some((at, group, name))
    });
    let (_, group, name) = found.min()?;
    Some(group.map_or_else(|| name.to_owned(), |group| format!("{group}.{name}")))
}

/// The parameters of a body, each with its group if it has one.
fn parameters<'a>(
    sent: &'a Map<String, Value>,
    groups: &'a [&str],
) -> impl Iterator<Item = (Option<&'a str>, &'a str)> {
    sent.iter().filter(|(key, _)| !SUBSTANCE.contains(&key.as_str())).flat_map(move |(key, value)| {
        let inner = value.as_object().filter(|_| groups.contains(&key.as_str()));
        let inner = inner.into_iter().flat_map(Map::keys).map(move |name| (Some(key.as_str()), name.as_str()));
        std::iter::once((None, key.as_str())).chain(inner)
    })
}

/// The position at which a text names a parameter: as a whole word, and for everyday words only in quotes or before a
/// colon.
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
    use crate::{
        dialect::{Dialect as _, SchemaMode},
        openai::Chat,
    };

    #[test]
    fn refusals_of_parameters() {
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
            // None of these is about one of our parameters.
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
            let found = parameter(StatusCode::BAD_REQUEST, body.to_string().as_bytes(), sent, &[]);
            let mend = |name: &str| Chat.mend(name, SchemaMode::JsonSchema).expect("a line");
            let found = found.map(|name| (name.clone(), mend(&name)));
            assert_eq!(found, expected.map(|(name, line)| (name.to_owned(), line.to_owned())), "{body}");
        }
        let other = json!({"error": {"message": "Unsupported parameter: 'seed'"}}).to_string();
        assert_eq!(parameter(StatusCode::UNAUTHORIZED, other.as_bytes(), sent, &[]), None);
    }

    #[test]
    fn a_parameter_of_a_group_is_named_with_it() {
        let sent = json!({ "contents": [], "generationConfig": { "seed": 1, "temperature": 0 } });
        let sent = sent.as_object().expect("an object");
        let body = json!({ "error": { "code": 400, "message":
            "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field." } });
        let found = parameter(StatusCode::BAD_REQUEST, body.to_string().as_bytes(), sent, &["generationConfig"]);
        assert_eq!(found.as_deref(), Some("generationConfig.seed"));
    }
}
