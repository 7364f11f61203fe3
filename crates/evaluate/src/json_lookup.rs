//! The path of a value in JSON: a key, `address.city`, `items[0].id`, or a full RFC 9535 path.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::error::Error;

/// The limit of values that one path selects for judging.
pub(crate) const MOST_VALUES: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Lookup {
    written: String,
    path: JsonPath,
}

impl Lookup {
    /// A path without `$` starts at the root.
    pub(crate) fn new(written: &str, field: &'static str) -> Result<Self, Error> {
        let fault = |message: String| Error::Invalid { field, message };
        let text = written.trim();
        if text.is_empty() {
            return Err(Error::Empty { field });
        }
        let parsed = if text.starts_with('$') {
            JsonPath::parse(text)
        } else if plain(text) {
            JsonPath::parse(&format!("$.{text}"))
        } else {
            // A key with blanks, quotes or anything else in it.
            JsonPath::parse(&format!("$[{}]", Value::from(text)))
        };
        let path = parsed.map_err(|error| fault(format!("`{text}` is not a JSON path: {error}")))?;
        Ok(Self { written: text.to_owned(), path })
    }

    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// A key that equals the whole path wins, because keys can contain dots.
    pub(crate) fn all<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match value.get(&self.written) {
            Some(found) => vec![found],
            None => self.path.query(value).all(),
        }
    }
}

fn plain(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '[' | ']' | '*' | '-'))
        && !text.contains("..")
        && !text.starts_with(['.', '[', '-'])
        && !text.split(['.', '[', ']']).any(|part| part.contains('-') && part.parse::<i64>().is_err())
}
