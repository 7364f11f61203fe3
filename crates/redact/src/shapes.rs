//! The shapes of keys, for unregistered ones: `sk-…`, `Bearer …`, JSON web tokens, AWS access keys.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// [`crate::MARK`], after the text before the key.
const REPLACEMENT: &str = "${before}[redacted]";

/// A key starts a word, or follows an escaped line break of JSON (`
/// sk-…`, where no word starts).
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<before>(?-u:\b)|\\[nrt])(?:",
        r"sk-[A-Za-z0-9_-]{16,}",
        r"|(?i:bearer)[ \t]+[A-Za-z0-9._~+/-]{16,}=*",
        r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}",
        r")"
    ))
    .expect("the expression is fixed, and a test compiles it")
});

/// `sk-` and its sixteen characters: every other shape is longer.
const SHORTEST: usize = 19;

pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    // Replacing makes room for captures first, even if there is nothing to replace.
    if text.len() < SHORTEST || !SHAPES.is_match(text) {
        return Cow::Borrowed(text);
    }
    SHAPES.replace_all(text, REPLACEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_secret_leave_the_same_mark() {
        assert_eq!(redact("AKIAIOSFODNN7EXAMPLE"), crate::MARK);
    }

    #[test]
    fn keys_are_known_by_their_shape() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
        for (text, clean) in [
            ("key sk-abcdefghijklmnopqrstuv.", "key [redacted]."),
            ("sk-0123456789abcdef", "[redacted]"),
            ("sk-proj-Abc_123-456789012345", "[redacted]"),
            ("{\"k\":\"sk-ant-api03-aaaaaaaaaaaaaaaa\"}", "{\"k\":\"[redacted]\"}"),
            ("{\"k\":\"a\\nsk-abcdefghijklmnopqrstuv\"}", "{\"k\":\"a\\n[redacted]\"}"),
            ("Authorization: Bearer abcdefghij0123456789==", "Authorization: [redacted]"),
            ("authorization: bearer\tABCDEFGHIJ.0123456789~", "authorization: [redacted]"),
            (jwt, "[redacted]"),
            ("id AKIAIOSFODNN7EXAMPLE here", "id [redacted] here"),
            ("ASIAIOSFODNN7EXAMPLE", "[redacted]"),
        ] {
            assert_eq!(redact(text), clean);
        }
        for text in [
            "risk-adjusted-returns-of-the-portfolio",
            "the desk-research-and-interviews-phase",
            "sk-short",
            "the bearer of good news",
            "eyJub3Q.a.token",
            "AKIA is short",
            "",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
