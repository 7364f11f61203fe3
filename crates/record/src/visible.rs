//! Control characters: a terminal obeys them, or they change the reading direction. Foreign texts show them as escapes.

use std::borrow::Cow;

/// C0, C1 and DEL, marks and overrides of the writing direction, and the two separators that end lines.
#[must_use]
pub fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// For a terminal: lines and tabs stay, everything else that steers becomes `\u{1b}` and the like.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |character| steers(character) && !matches!(character, '\n' | '\t'),
        |character| character.escape_unicode().to_string(),
    )
}

/// For JSON that is written already, which has C0 as escapes: the others get theirs.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let hidden = |character: char| steers(character) && (character == '\u{7f}' || !character.is_ascii());
    escaped(text, hidden, |character| format!("\\u{:04x}", u32::from(character)))
}

/// Like [`json`], for owned text: it is returned unchanged if it has no control characters.
#[must_use]
pub fn json_owned(text: String) -> String {
    match json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

/// Whether all of it is ASCII without DEL. Lines of JSON are long and nearly always so: blocks without an early exit
/// are compared many bytes at once, whereas decoding each character takes a tenth of the time of a short conversation.
fn is_plain(text: &str) -> bool {
    text.as_bytes().chunks(64).all(|block| block.iter().fold(true, |plain, byte| plain & (*byte < 0x7f)))
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.chars().any(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            shown.push_str(&escape(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEERING: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{9d}x\u{9c}\r\u{8}\u{7f}\0\u{202e}\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}";

    #[test]
    fn a_terminal_is_given_nothing_to_obey() {
        let shown = text(STEERING);
        assert!(!shown.chars().any(steers), "{shown}");
        assert!(shown.starts_with("\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{9b}31m"), "{shown}");
        assert!(matches!(text("täglich 你好 😀 a\u{200d}b\n\tx"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_in_escapes() {
        let written = format!("{{\"a\":{:?}}}\n", "x").replace('x', "\u{9b}31m \u{202e}\u{2028}\u{7f}");
        let shown = json(&written);
        assert_eq!(shown, "{\"a\":\"\\u009b31m \\u202e\\u2028\\u007f\"}\n");
        assert!(matches!(json("{\"a\":\"ä \\u001b\"}\n"), Cow::Borrowed(_)));
    }
}
