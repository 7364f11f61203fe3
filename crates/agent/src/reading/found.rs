//! Reads the places of a reply: texts, pieces of them, and values of any kind.

use llm::hint;
use serde_json::Value;

use super::{ReplyPlaces, Trouble};

/// The path of the longest text in it.
pub(super) fn longest_text(value: &Value) -> Option<String> {
    fn walk(value: &Value, place: &str, best: &mut Option<(usize, String)>) {
        match value {
            Value::String(text) if best.as_ref().is_none_or(|(length, _)| text.len() > *length) => {
                *best = Some((text.len(), place.to_owned()));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{place}[{index}]"), best));
            }
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                let plain = key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                let below = if plain { format!("{place}.{key}") } else { format!("{place}['{key}']") };
                walk(item, &below, best);
            }),
            _ => {}
        }
    }
    let mut best = None;
    walk(value, "$", &mut best);
    best.map(|(_, place)| place)
}

pub(super) fn json(body: &[u8]) -> Result<Value, Trouble> {
    llm::json::check(body).map_err(|error| Trouble(error.to_string()))?;
    serde_json::from_slice(body).map_err(|error| Trouble(format!("it is not JSON: {error}")))
}

/// A body that is the reply itself; JSON's own text loses its quotes.
pub(super) fn plain(body: &[u8]) -> Result<String, Trouble> {
    llm::json::check(body).map_err(|error| Trouble(error.to_string()))?;
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Object(_) | Value::Array(_)) => {
            let place = serde_json::from_slice(body).ok().as_ref().and_then(longest_text);
            let mend = format!("write `reply: {{ text: {} }}`", place.as_deref().unwrap_or("$.PATH"));
            let message = "it is JSON, and the agent's settings do not say where the text is";
            Err(Trouble(hint::with(message, Some(&mend))))
        }
        _ => String::from_utf8(body.to_vec()).map_err(|_| Trouble("it is not text".to_owned())),
    }
}

pub(super) fn pieces(places: Option<&ReplyPlaces>, event: &str, value: &Value) -> Result<Vec<String>, Trouble> {
    let Some(places) = places else { return Ok(Vec::new()) };
    let mut pieces = Vec::new();
    for found in places.find(event, value) {
        match found {
            // Content parts, as models stream them.
            Value::Array(parts) => pieces.extend(texts_of(places, parts)?),
            other => pieces.push(text_of(places, other)?),
        }
    }
    Ok(pieces)
}

pub(super) fn text_of(places: &ReplyPlaces, value: &Value) -> Result<String, Trouble> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(list) => Ok(texts_of(places, list)?.join("\n")),
        Value::Null => Ok(String::new()),
        Value::Object(_) => Err(Trouble(format!("the value at {} is an object, not a text", places.written()))),
    }
}

/// The texts of a list: of texts, or of content parts with a `type` such as `text`, `thinking` and `tool_use`.
fn texts_of(places: &ReplyPlaces, list: &[Value]) -> Result<Vec<String>, Trouble> {
    let mut texts = Vec::new();
    for item in list.iter().filter(|item| !item.is_null()) {
        match item.get("type").and_then(Value::as_str) {
            None => texts.push(text_of(places, item)?),
            Some("text" | "output_text" | "text_delta") => {
                texts.push(item.get("text").map_or(Ok(String::new()), |text| text_of(places, text))?);
            }
            Some(_) => {}
        }
    }
    Ok(texts)
}

/// The values at a path, with lists taken apart.
pub(super) fn found<'a>(places: Option<&ReplyPlaces>, event: &str, value: &'a Value) -> Vec<&'a Value> {
    let Some(places) = places else { return Vec::new() };
    let mut all = Vec::new();
    for found in places.find(event, value) {
        match found {
            Value::Array(list) => all.extend(list.iter().filter(|value| !value.is_null())),
            other => all.push(other),
        }
    }
    all
}
