//! Reads JSON as models write it: in a fence, between words, in quotes, or with trailing commas.

use std::borrow::Cow;

use serde_json::Value;

/// The JSON of the text: the whole text, or the part between its first and its last bracket. Trailing commas are
/// allowed there; nothing else is corrected.
///
/// # Errors
/// There are no brackets, or they do not enclose JSON. The text is a lowercase fragment.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        // A JSON string that contains JSON means the JSON.
        Ok(Value::String(inner)) => Ok(enclosed(&inner).unwrap_or(Value::String(inner))),
        Ok(value) => Ok(value),
        Err(_) => enclosed(text),
    }
}

/// A value as text: a string without its quotes, nothing for null, anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed(""),
        other => Cow::Owned(other.to_string()),
    }
}

fn enclosed(text: &str) -> Result<Value, String> {
    let (start, end) = match (text.find(['{', '[']), text.rfind(['}', ']'])) {
        (Some(start), Some(end)) if start < end => (start, end),
        _ => return Err("there is no JSON in the text".to_owned()),
    };
    let json = &text[start..=end];
    serde_json::from_str(json)
        .or_else(|error| serde_json::from_str(&without_last_commas(json)).map_err(|_| error))
        .map_err(|error| format!("the text is not JSON: {error}"))
}

/// Removes trailing commas. A JSON5 reader would accept far more than the clients of agents do.
fn without_last_commas(json: &str) -> String {
    let (mut kept, mut in_string, mut escaped) = (String::with_capacity(json.len()), false, false);
    for (at, letter) in json.char_indices() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
        } else if letter == '"' {
            in_string = true;
        } else if letter == ',' && json[at + 1..].trim_start().starts_with(['}', ']']) {
            continue;
        }
        kept.push(letter);
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn tolerates_common_mistakes_of_models() {
        let rows = [
            (r#"{"a":1}"#, json!({"a":1})),
            ("```json\n{\"a\": [1, 2]}\n```", json!({"a":[1,2]})),
            ("Here it is: {\"a\":1}. Anything else?", json!({"a":1})),
            (r#"{ "name": "Mehran", }"#, json!({"name":"Mehran"})),
            ("[1,\n 2,\n]", json!([1, 2])),
            (r#"{"a":"x, }","b":[{"c":"\",]"},],}"#, json!({"a":"x, }","b":[{"c":"\",]"}]})),
            (r#""{\"a\":1}""#, json!({"a":1})),
            (r#"'{"a":1}'"#, json!({"a":1})),
            ("42", json!(42)),
            (" null ", json!(null)),
            (r#""word""#, json!("word")),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_and_ends() {
        for text in ["", "hello", "}{", "{", "{]", "{a:1}", "{'a':1}", "{\"a\":1,,}", "[1 2]", "{\"a\":1} {\"b\":2}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(1 << 20)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(1 << 16), "]".repeat(1 << 16))).is_err(), "deep nesting is refused");
        assert!(read(&format!("[{}1]", "1,\n".repeat(1 << 16))).is_ok());
    }
}
