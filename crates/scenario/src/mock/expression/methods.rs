//! The methods that texts and lists have in an expression.

use serde_json::Value;

use super::{
    error::Error,
    value::{is_equal, number, of_number, text},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Includes,
    StartsWith,
    EndsWith,
    ToLowerCase,
    ToUpperCase,
    Trim,
    ToString,
    IndexOf,
    Slice,
    Split,
    Join,
    Replace,
}

/// With how many arguments each is called: from, to.
pub(super) const METHODS: [(&str, Method, usize, usize); 12] = [
    ("includes", Method::Includes, 1, 1),
    ("startsWith", Method::StartsWith, 1, 1),
    ("endsWith", Method::EndsWith, 1, 1),
    ("toLowerCase", Method::ToLowerCase, 0, 0),
    ("toUpperCase", Method::ToUpperCase, 0, 0),
    ("trim", Method::Trim, 0, 0),
    ("toString", Method::ToString, 0, 0),
    ("indexOf", Method::IndexOf, 1, 1),
    ("slice", Method::Slice, 1, 2),
    ("split", Method::Split, 1, 1),
    ("join", Method::Join, 0, 1),
    ("replace", Method::Replace, 2, 2),
];

/// The longest text that is made of others.
pub(super) const LONGEST: usize = 1 << 20;

pub(super) fn apply(target: &Value, method: Method, arguments: &[Value]) -> Result<Value, Error> {
    let first = || arguments.first().map(text).unwrap_or_default();
    Ok(match (method, target) {
        (Method::ToString, target) => Value::String(text(target)),
        (Method::Includes, Value::Array(list)) => list.iter().any(|item| is_equal(item, &arguments[0])).into(),
        (Method::IndexOf, Value::Array(list)) => place(list.iter().position(|item| is_equal(item, &arguments[0]))),
        (Method::Join, Value::Array(list)) => {
            let between = if arguments.is_empty() { ",".to_owned() } else { first() };
            let pieces: Vec<String> = list.iter().map(text).collect();
            bounded(pieces.join(&between))?
        }
        (Method::Slice, Value::Array(list)) => {
            let (from, to) = span(arguments, list.len());
            Value::Array(list[from..to].to_vec())
        }
        (Method::Includes, Value::String(said)) => said.contains(&first()).into(),
        (Method::StartsWith, Value::String(said)) => said.starts_with(&first()).into(),
        (Method::EndsWith, Value::String(said)) => said.ends_with(&first()).into(),
        (Method::ToLowerCase, Value::String(said)) => said.to_lowercase().into(),
        (Method::ToUpperCase, Value::String(said)) => said.to_uppercase().into(),
        (Method::Trim, Value::String(said)) => said.trim().into(),
        (Method::IndexOf, Value::String(said)) => place(said.find(&first()).map(|byte| said[..byte].chars().count())),
        (Method::Slice, Value::String(said)) => {
            let (from, to) = span(arguments, said.chars().count());
            said.chars().skip(from).take(to - from).collect::<String>().into()
        }
        (Method::Split, Value::String(said)) => match first().as_str() {
            "" => said.chars().map(|c| Value::String(c.to_string())).collect(),
            between => said.split(between).map(Value::from).collect(),
        },
        (Method::Replace, Value::String(said)) => bounded(said.replacen(&first(), &text(&arguments[1]), 1))?,
        (_, other) => {
            let name = METHODS.iter().find(|(_, known, ..)| *known == method).map_or("", |(name, ..)| name);
            return Err(Error::Valueless(format!("{} has no {name}()", kind(other))));
        }
    })
}

pub(super) fn bounded(text: String) -> Result<Value, Error> {
    if text.len() > LONGEST {
        return Err(Error::Valueless("its text is longer than 1 MiB".to_owned()));
    }
    Ok(Value::String(text))
}

fn place(found: Option<usize>) -> Value {
    found.map_or(Value::from(-1), Value::from)
}

/// Negative positions count from the end.
fn span(arguments: &[Value], length: usize) -> (usize, usize) {
    let end = |value: &Value| {
        let at = number(value);
        let at = if at < 0.0 { length as f64 + at } else { at };
        (at.max(0.0) as usize).min(length)
    };
    let from = arguments.first().map_or(0, end);
    let to = arguments.get(1).map_or(length, end);
    (from, to.max(from))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `.length`
pub(super) fn length(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(of_number(text.chars().count() as f64)),
        Value::Array(list) => Some(of_number(list.len() as f64)),
        _ => None,
    }
}
