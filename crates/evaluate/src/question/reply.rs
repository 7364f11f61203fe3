//! Reads a judge's reply strictly: the whole reply counts; nothing is extracted from prose or corrected.

use serde_json::Value;

/// The whole reply as one JSON value. A code fence around it is allowed.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let text = unfenced(text.trim());
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    serde_json::from_str(text).map_err(|error| format!("the reply is not one JSON object: {error}"))
}

/// Exactly `yes` or `no`, in any case, perhaps with a full stop.
pub(super) fn bare_word(text: &str) -> Option<bool> {
    let word = bare(text);
    if word.eq_ignore_ascii_case("yes") {
        Some(true)
    } else if word.eq_ignore_ascii_case("no") {
        Some(false)
    } else {
        None
    }
}

/// Exactly a decimal number from 0 to 1, perhaps with a full stop.
pub(super) fn bare_number(text: &str) -> Option<f64> {
    let digits = bare(text);
    // Rust also parses `inf`, `1e-1` and `+1`, which the form does not allow.
    if !digits.starts_with(|first: char| first.is_ascii_digit())
        || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    digits.parse().ok().filter(|number| (0.0..=1.0).contains(number))
}

fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix('.').unwrap_or(text)
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    let inner = inner.strip_prefix("json").or_else(|| inner.strip_prefix("JSON")).unwrap_or(inner);
    inner.trim()
}

#[cfg(test)]
mod tests {
    use super::{bare_number, bare_word, json};

    #[test]
    fn bare_words_are_the_whole_reply() {
        let rows = [
            ("yes", Some(true)),
            (" YES.\n", Some(true)),
            ("No", Some(false)),
            ("no.", Some(false)),
            ("yesterday", None),
            ("not yes", None),
            ("yes, because", None),
            ("yes no", None),
            ("yes..", None),
            ("", None),
            (".", None),
            ("ja", None),
        ];
        for (text, expected) in rows {
            assert_eq!(bare_word(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bare_numbers_are_the_whole_reply_and_in_range() {
        let rows = [
            ("0.85", Some(0.85)),
            (" 0.85.\n", Some(0.85)),
            ("1", Some(1.0)),
            ("0", Some(0.0)),
            ("1.0", Some(1.0)),
            ("1.5", None),
            ("-0.1", None),
            ("+0.5", None),
            ("0.9junk", None),
            ("0.9 0.8", None),
            ("1e-1", None),
            ("85%", None),
            ("0,85", None),
            ("0.8.5", None),
            ("NaN", None),
            ("inf", None),
            (".5", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(bare_number(text), expected, "{text:?}");
        }
    }

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
        ];
        for text in bad {
            assert!(json(text).is_err(), "{text:?}");
        }
        assert!(json(&"[".repeat(100_000)).is_err(), "deep nesting is refused, not followed");
    }
}
