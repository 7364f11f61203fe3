//! The tools of one trial: an agent's calls, answered by the scenario's mocks.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use scenario::{
    ids::seed_of,
    mock::{self, Call, Mock, Tool},
};
use serde_json::{Map, Value};

/// Answers calls, each with chance of its own.
#[derive(Debug)]
pub struct Tools {
    mocks: Vec<Mock>,
    seed: u64,
    context: Map<String, Value>,
    now_millis: fn() -> i64,
    asked: AtomicU64,
}

impl Tools {
    /// `context` is what the mocks' `when.context` sees; `seed` draws their failures.
    #[must_use]
    pub fn new(mocks: Vec<Mock>, seed: u64, context: Map<String, Value>, now_millis: fn() -> i64) -> Self {
        Self { mocks, seed, context, now_millis, asked: AtomicU64::new(0) }
    }

    /// What an agent can be offered.
    #[must_use]
    pub fn offered(&self) -> Vec<Tool> {
        mock::tools(&self.mocks)
    }

    /// The result of a call, once its delay is over; `None` where no mock answers it.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Option<String> {
        let call = Call { tool, arguments, context: &self.context, now_millis: (self.now_millis)() };
        let answer = {
            let found = mock::find(&self.mocks, &call)?;
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let seed = seed_of(&[b"mock", &self.seed.to_le_bytes(), tool.as_bytes(), &number.to_le_bytes()]);
            found.answer(seed)
        };
        if answer.delay > Duration::ZERO {
            tokio::time::sleep(answer.delay).await;
        }
        Some(answer.text())
    }
}

/// Arguments as a model wrote them; what is no JSON is a text.
pub(crate) fn read(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()))
}
