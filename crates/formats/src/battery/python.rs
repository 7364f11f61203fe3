//! Python literals in the conversations that Emely saves: lists, mappings, texts, numbers, None.

use serde_json::{Map, Value};

const MAX_DEPTH: u32 = 32;

/// Reads one literal.
///
/// # Errors
/// A lowercase fragment with the reason.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.unexpected("the end")) }
}

/// Writes a value as a literal.
pub(super) fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("None"),
        Value::Bool(true) => text.push_str("True"),
        Value::Bool(false) => text.push_str("False"),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(words) => quote(words, text),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                quote(key, text);
                text.push_str(": ");
                write(item, text);
            }
            text.push('}');
        }
    }
}

/// In single quotes, unless the text has a single quote and no double one.
fn quote(words: &str, text: &mut String) {
    let mark = if words.contains('\'') && !words.contains('"') { '"' } else { '\'' };
    text.push(mark);
    for character in words.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            other if other == mark => text.extend(['\\', other]),
            other if other.is_control() && (other as u32) < 256 => text.push_str(&format!("\\x{:02x}", other as u32)),
            other => text.push(other),
        }
    }
    text.push(mark);
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.rest.chars().next() {
            Some(found) => format!("expected {wanted}, found {found:?}"),
            None => format!("expected {wanted}, found the end"),
        }
    }

    fn takes(&mut self, token: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("the literal is nested too deeply".to_owned());
        }
        self.blanks();
        for (word, value) in [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))] {
            if self.takes(word) {
                return Ok(value);
            }
        }
        match self.rest.chars().next() {
            Some('[' | '(') => self.list(depth),
            Some('{') => self.map(depth),
            Some('\'' | '"') => Ok(Value::String(self.text()?)),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn list(&mut self, depth: u32) -> Result<Value, String> {
        let end = if self.takes("[") { "]" } else { ")" };
        if end == ")" {
            self.takes("(");
        }
        let mut items = Vec::new();
        while !self.takes(end) {
            items.push(self.value(depth + 1)?);
            if !self.takes(",") && !self.rest.starts_with(end) {
                return Err(self.unexpected("`,`"));
            }
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, depth: u32) -> Result<Value, String> {
        self.takes("{");
        let mut map = Map::new();
        while !self.takes("}") {
            self.blanks();
            let key = self.text()?;
            if !self.takes(":") {
                return Err(self.unexpected("`:`"));
            }
            map.insert(key, self.value(depth + 1)?);
            if !self.takes(",") && !self.rest.starts_with('}') {
                return Err(self.unexpected("`,`"));
            }
        }
        Ok(Value::Object(map))
    }

    fn text(&mut self) -> Result<String, String> {
        let mut characters = self.rest.chars();
        let Some(mark @ ('\'' | '"')) = characters.next() else { return Err(self.unexpected("a text")) };
        let mut text = String::new();
        loop {
            match characters.next() {
                None => return Err("a text has no end".to_owned()),
                Some(end) if end == mark => break,
                Some('\\') => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(width @ ('x' | 'u' | 'U')) => {
                        let many = match width {
                            'x' => 2,
                            'u' => 4,
                            _ => 8,
                        };
                        let digits: String = characters.by_ref().take(many).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| format!("`\\{width}{digits}` is not a character"))?);
                    }
                    Some(other) => text.push(other),
                    None => return Err("a text has no end".to_owned()),
                },
                Some(other) => text.push(other),
            }
        }
        self.rest = characters.as_str();
        Ok(text)
    }

    fn number(&mut self) -> Result<Value, String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let fault = || format!("`{digits}` is not a number");
        if let Ok(whole) = digits.parse::<i64>() {
            return Ok(Value::from(whole));
        }
        let number: f64 = digits.parse().map_err(|_| fault())?;
        serde_json::Number::from_f64(number).map(Value::Number).ok_or_else(fault)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_are_read() {
        let rows = [
            ("[0, 1041001.5, ]", json!([0, 1_041_001.5])),
            ("{'a': [\"it's\"], 'b': None}", json!({ "a": ["it's"], "b": null })),
            ("(True, False)", json!([true, false])),
            (r"'a\'b\\c\n\x41é'", json!("a'b\\c\nAé")),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "[", "[1 2]", "{'a'}", "{1: 2}", "'a", "nan", "1 2", "[1,,2]", r"'\x4'", &"[".repeat(100_000)]
        {
            assert!(parse(wrong).is_err(), "{wrong:.20}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(texts in proptest::collection::vec("\\PC*|[\\n\\r\\t'\"\\\\]*", 0..5), number: i64) {
            let value = json!({ "texts": texts, "number": number, "none": null, "true": true });
            let mut text = String::new();
            write(&value, &mut text);
            prop_assert_eq!(parse(&text), Ok(value));
        }

        #[test]
        fn nothing_panics(text in "[\\[\\]{}(),:'\"\\\\a-z0-9. -]{0,40}") {
            let _ = parse(&text);
        }
    }
}
