//! One cell of a row.

use scenario::{CaseId, TrialId};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Map(Vec<(String, String)>),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

/// Counts and times, which saturate: figures come from workers.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// All 64 bits, for a column of unsigned numbers.
pub(crate) struct Unsigned(pub(crate) u64);

impl From<Unsigned> for Value {
    fn from(value: Unsigned) -> Self {
        Self::Int(value.0.cast_signed())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&CaseId> for Value {
    fn from(value: &CaseId) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<&TrialId> for Value {
    fn from(value: &TrialId) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<&[(String, String)]> for Value {
    fn from(value: &[(String, String)]) -> Self {
        Self::Map(value.to_vec())
    }
}

/// A value as JSON; none for an empty list.
pub(crate) fn json<T: serde::Serialize>(values: &[T]) -> Value {
    if values.is_empty() { Value::Null } else { serde_json::to_string(values).ok().into() }
}

/// The name of a value in records: `agent_timeout`.
pub(crate) fn name<T: serde::Serialize>(value: &T) -> Value {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Value::Text(name),
        _ => Value::Null,
    }
}
