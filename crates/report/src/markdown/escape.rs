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
    if let Some(place) = block_mark(&escaped) {
        escaped.insert(place, '\\');
    }
    // GitHub makes links of bare addresses.
    escaped.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

/// The place of a character that makes a heading, an item or a rule of a text at the start of a line.
fn block_mark(text: &str) -> Option<usize> {
    let ends_at = |end: usize| text[end..].is_empty() || text[end..].starts_with(' ');
    let run = |is: fn(&char) -> bool| text.chars().take_while(is).count();
    let (hashes, digits) = (run(|one| *one == '#'), run(char::is_ascii_digit));
    let is_rule = text.starts_with("--") && text.chars().all(|one| one == '-' || one == ' ');
    if (1..=6).contains(&hashes) && ends_at(hashes) || is_rule || text.starts_with(['-', '+']) && ends_at(1) {
        return Some(0);
    }
    ((1..=9).contains(&digits) && text[digits..].starts_with(['.', ')']) && ends_at(digits + 1)).then_some(digits)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_begins_a_block() {
        for (text, shown) in [
            ("# a", "\\# a"),
            ("#7 and ####### a", "#7 and ####### a"),
            ("- a", "\\- a"),
            ("+", "\\+"),
            ("-5 %", "-5 %"),
            ("---", "\\---"),
            ("- - -", "\\- - -"),
            ("12. a", "12\\. a"),
            ("1)", "1\\)"),
            ("1.5 s", "1.5 s"),
            ("1234567890. a", "1234567890. a"),
            ("> a", "&gt; a"),
        ] {
            assert_eq!(escape(text), shown, "{text}");
        }
    }
}
