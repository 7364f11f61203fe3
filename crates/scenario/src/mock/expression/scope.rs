//! The values that an expression can use.

use serde_json::{Map, Value};

/// The values that an expression can use.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub args: &'a [Value],
    pub input: &'a Map<String, Value>,
    pub context: &'a Map<String, Value>,
    /// The state of the trial's mocks; null if they keep none.
    pub state: &'a Value,
    /// Unix milliseconds, for `Date.now()`.
    pub now_millis: i64,
}
