//! Compares the value at a path of a state with the expected one.

use serde_json::Value;

use crate::{
    error::Error,
    excerpt::{LONG_BYTES, SHORT_BYTES, excerpt},
    json_lookup::Lookup,
    outcome::Outcome,
};

#[derive(Debug)]
pub(crate) struct Expected {
    written: String,
    path: Path,
    /// `None`: any value.
    equals: Option<Value>,
}

impl Expected {
    pub(crate) fn new(path: &str, equals: Option<&Value>, field: &'static str) -> Result<Self, Error> {
        Ok(Self { written: path.to_owned(), path: Path::new(path, field)?, equals: equals.cloned() })
    }

    /// The evidence is the state.
    pub(crate) fn look(&self, state: &Value) -> Outcome {
        let path = excerpt(&self.written, SHORT_BYTES);
        let found = self.path.all(state);
        let outcome = match (found.as_slice(), &self.equals) {
            ([], _) => Outcome::fail(format!("`{path}` selects nothing in the state")),
            ([first, ..], None) => Outcome::pass(format!("`{path}` is {}", shown(first))),
            ([one], Some(expected)) => {
                let holds = scenario::mock::expression::is_equal(one, expected);
                let mut reason = format!("`{path}` is {}", shown(one));
                if !holds {
                    reason.push_str(&format!(", expected {}", shown(expected)));
                }
                Outcome::decided(holds, reason)
            }
            (several, Some(expected)) => {
                Outcome::fail(format!("`{path}` selects {} values, expected one, {}", several.len(), shown(expected)))
            }
        };
        outcome.with_evidence(&excerpt(&state.to_string(), LONG_BYTES))
    }
}

#[derive(Debug)]
enum Path {
    /// Keys and list positions, one below the other. JSONPath does not support keys that start with a digit, such as
    /// the `7` of `$.orders.7.status`.
    Keys(Vec<String>),
    Lookup(Lookup),
}

impl Path {
    fn new(written: &str, field: &'static str) -> Result<Self, Error> {
        let text = written.trim();
        let keys: Vec<&str> = text.strip_prefix("$.").unwrap_or(text).split('.').collect();
        let is_plain = |key: &&str| {
            !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
        };
        if keys.iter().all(is_plain) {
            return Ok(Self::Keys(keys.into_iter().map(str::to_owned).collect()));
        }
        Lookup::new(text, field).map(Self::Lookup)
    }

    fn all<'v>(&self, state: &'v Value) -> Vec<&'v Value> {
        match self {
            Self::Lookup(path) => path.all(state),
            Self::Keys(keys) => {
                let step = |value: &'v Value, key: &String| match value {
                    Value::Array(list) => list.get(key.parse::<usize>().ok()?),
                    other => other.get(key),
                };
                keys.iter().try_fold(state, step).into_iter().collect()
            }
        }
    }
}

fn shown(value: &Value) -> String {
    excerpt(&value.to_string(), SHORT_BYTES).into_owned()
}
