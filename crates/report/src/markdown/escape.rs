//! Escapes text from outside for Markdown: no markup, no links, no mentions.

use crate::{clean::clean, clip};

/// Of a code span.
const CODE_CHARS: usize = 240;

/// As text.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            // Inside a word it needs no escape, and names are full of it.
            '_' if !before.is_alphanumeric() => escaped.push_str("\\_"),
            '@' => escaped.push_str("@\u{200b}"),
            other => escaped.push(other),
        }
        before = character;
    }
    // GitHub makes links of bare addresses.
    escaped.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

/// A code span, in which nothing is markup, delimited by more backticks than the text has in a row.
pub(crate) fn code(text: &str) -> String {
    let text = clip::ellipsis(&clean(text), CODE_CHARS);
    let mut longest = 0;
    let mut row = 0;
    for character in text.chars() {
        row = if character == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let fence = "`".repeat(longest + 1);
    // Without a space, a backtick at an end would join the delimiter.
    let space = if longest > 0 || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
