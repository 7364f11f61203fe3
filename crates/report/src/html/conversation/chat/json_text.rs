//! Indents JSON for reading: only white space changes, so the agent's text stays as written.

use serde::de::IgnoredAny;

/// Text that is not a JSON object or array stays unchanged.
pub(super) fn indented(text: &str) -> String {
    let text = text.trim();
    let nested = text.starts_with(['{', '[']);
    if !nested || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut escaped = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push('"');
            }
            '{' | '[' => {
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                out.push(character);
                match characters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_changes() {
        for (text, shown) in [
            (
                r#"{"a":1,"b":[true,{"c":"x, y: {z}"}]}"#,
                "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    {\n      \"c\": \"x, y: {z}\"\n    }\n  ]\n}",
            ),
            (
                r#"{"q":"a \"quoted\\" , "n":12345678901234567890123}"#,
                "{\n  \"q\": \"a \\\"quoted\\\\\",\n  \"n\": 12345678901234567890123\n}",
            ),
            ("{ }", "{}"),
            ("[ [], {} ]", "[\n  [],\n  {}\n]"),
            ("{broken", "{broken"),
            ("plain text", "plain text"),
            ("12", "12"),
        ] {
            assert_eq!(indented(text), shown);
        }
    }
}
