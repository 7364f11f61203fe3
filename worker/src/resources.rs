//! What a worker plays with: agents, models, hooks and leave to execute, all from its operator's settings.
//!
//! A plan names these; it never holds an address or a key.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{environment::Execution, termination::hook::Hook, tool_server::ToolServer};

pub struct Resources {
    /// Agents under test, by name.
    pub agents: BTreeMap<String, Arc<dyn agent::Agent>>,
    pub models: Models,
    /// Termination hooks, by name.
    pub hooks: BTreeMap<String, Hook>,
    /// Addresses of databases that scenarios may seed, by name.
    pub databases: BTreeMap<String, String>,
    pub execution: Execution,
    /// Where agents that call their tools themselves find them.
    pub tool_server: ToolServer,
    /// Wall time in Unix milliseconds, for the mocks that answer with it.
    pub now_millis: fn() -> i64,
    /// Where finished trials are told of, if anybody wants traces.
    pub traces: telemetry::Traces,
    /// Where calls, turns and trials are counted, if anybody wants figures.
    pub metrics: telemetry::metrics::Worker,
    /// What the calls in flight may cost at most, in nano-dollars.
    pub unsettled: Box<dyn Fn() -> i64 + Send + Sync>,
}

/// The language models that are asked on gabfest's own behalf.
#[derive(Debug, Clone)]
pub struct Models {
    pub user_sim: Arc<dyn llm::Model>,
    pub judge: Arc<dyn llm::Model>,
    /// By model type, such as `TEXT_LARGE`; a type that is not here means the role's own model.
    pub by_type: BTreeMap<String, Arc<dyn llm::Model>>,
    /// What measures texts; the judge does what is not here.
    pub scores: evaluate::scorer::Models,
}

impl Models {
    pub(crate) fn user_sim(&self, model_type: &str) -> Arc<dyn llm::Model> {
        Arc::clone(self.by_type.get(model_type).unwrap_or(&self.user_sim))
    }

    pub(crate) fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Model> {
        Arc::clone(model_type.and_then(|name| self.by_type.get(name)).unwrap_or(&self.judge))
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources")
            .field("agents", &self.agents.keys())
            .field("models", &self.models)
            .field("hooks", &self.hooks.keys())
            .field("databases", &self.databases.keys())
            .field("execution", &self.execution)
            .field("tool_server", &self.tool_server)
            .finish_non_exhaustive()
    }
}
