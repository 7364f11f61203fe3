//! The connection of an agent whose answers are recorded: it connects nothing.

use std::sync::Arc;

use llm::{Absent, Call};

use crate::{Error as AgentError, Start, connection::Connection, request::Request};

/// Takes the place of a connection while a recording answers.
#[derive(Debug)]
pub(crate) struct Unconnected {
    agent: Absent,
}

impl Unconnected {
    pub(crate) fn new(name: &str) -> Self {
        Self { agent: Absent::new(name, "its answers are recorded, so it is not connected") }
    }
}

impl Connection for Unconnected {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, AgentError> {
        Ok(Arc::new(self.agent.clone()))
    }

    /// Whether the scenario's plugins reached the agent was noted when it was recorded.
    fn understands_plugins(&self) -> bool {
        true
    }
}
