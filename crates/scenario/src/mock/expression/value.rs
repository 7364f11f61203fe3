//! Values as JavaScript takes them: as a condition, a text, a number; and when two are equal.

use serde_json::{Number, Value};

/// Deep, and 1 is 1.0.
#[must_use]
pub fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => a == b,
    }
}

/// `==`: a number equals a text with that number.
pub(super) fn is_loosely_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => a == b,
        (Value::Number(_) | Value::Bool(_), Value::String(_) | Value::Bool(_))
        | (Value::String(_) | Value::Bool(_), Value::Number(_))
        | (Value::String(_), Value::Bool(_)) => number(a) == number(b),
        _ => is_equal(a, b),
    }
}

pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A list or an object as its JSON.
#[must_use]
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) if text.trim().is_empty() => 0.0,
        Value::String(text) => text.trim().parse().unwrap_or(f64::NAN),
        Value::Array(_) | Value::Object(_) => f64::NAN,
    }
}

/// A whole number without a decimal point; a number that JSON cannot write is null.
pub(super) fn of_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
