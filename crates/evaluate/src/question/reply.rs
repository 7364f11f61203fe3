//! Reads a judge's reply strictly: the whole reply counts; nothing is extracted from prose or corrected.

use serde_json::{Map, Value};

use crate::excerpt::{SHORT_BYTES, excerpt};

/// The whole reply as one JSON value. A code fence around it is allowed.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let text = unfenced(text.trim());
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = llm::json::read(&mut reader, EachKeyOnce).and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| format!("the reply is not one JSON object: {error}"))
}

/// Whether the whole reply is one JSON object.
pub(super) fn is_object(text: &str) -> bool {
    json(text).is_ok_and(|value| value.is_object())
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    let inner = inner.strip_prefix("json").or_else(|| inner.strip_prefix("JSON")).unwrap_or(inner);
    inner.trim()
}

/// With two verdicts, it would be unclear which of them counts.
#[derive(Clone, Copy)]
struct EachKeyOnce;

impl llm::json::Rules for EachKeyOnce {
    fn key(self, key: &str, before: &Map<String, Value>) -> Result<(), String> {
        if before.contains_key(key) {
            return Err(format!("the key `{}` is there twice", excerpt(key, SHORT_BYTES)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn json_is_the_whole_reply() {
        let good = ["{\"a\":1}", " {\"a\":1}\n", "```json\n{\"a\":1}\n```", "```\n{\"a\":1}\n```"];
        for text in good {
            assert_eq!(json(text).unwrap(), serde_json::json!({ "a": 1 }), "{text:?}");
        }
        let bad = [
            "",
            "   ",
            "```json\n```",
            "```json\n{\"a\":1}",
            "Sure! {\"a\":1}",
            "{\"a\":1} That is all.",
            "{\"a\":1}{\"a\":2}",
            "{\"a\":1}\n{\"a\":2}",
            "```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```",
            "{\"a\":",
            "<html>busy</html>",
            "{\"a\":1,\"a\":1}",
            "{\"a\":{\"b\":1,\"b\":2}}",
            "[{\"a\":1,\"b\":2,\"a\":3}]",
        ];
        for text in bad {
            assert!(json(text).is_err(), "{text:?}");
        }
        let every_kind = r#"{"a":[null,true,-1,18446744073709551615,0.25,"ü\n",{"a":{}}],"b":[]}"#;
        assert_eq!(json(every_kind).unwrap(), serde_json::from_str::<serde_json::Value>(every_kind).unwrap());
        assert!(json(&"[".repeat(100_000)).is_err(), "deep nesting is refused, not followed");
    }
}
