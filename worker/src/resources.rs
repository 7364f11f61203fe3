//! What a worker plays with: agents, models, hooks and leave to execute, all from its operator's settings.
//!
//! A plan names these; it never holds an address or a key.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use llm::{Measures, Named, measure::Measurement};
use record::{Failure, FailureKind};
use scenario::{Asks, Measure};

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
    /// Of all endpoints and agents: the worker uses its share of each.
    pub limits: Vec<Arc<llm::limit::Limiter>>,
}

/// The language models that are asked on gabfest's own behalf. [`llm::Absent`] stands where a key is not there.
#[derive(Debug, Clone)]
pub struct Models {
    pub user_sim: Arc<dyn llm::Chat>,
    pub judge: Arc<dyn llm::Chat>,
    /// By model type, such as `TEXT_LARGE`; a type that is not here means the role's own model.
    pub by_type: BTreeMap<String, Arc<dyn llm::Chat>>,
    /// What measures texts; the judge does what is not here.
    pub scores: evaluate::scorer::Models,
    /// The most tokens of one answer of a judge, its reasoning included.
    pub judge_max_tokens: u32,
}

impl Models {
    /// Why a scenario that asks these cannot be played: a judge is missing, or else the simulated user.
    #[must_use]
    pub fn missing(&self, asks: &Asks) -> Option<Failure> {
        let judges = asks.judges.iter().map(|model_type| self.judge(model_type.as_deref()) as Arc<dyn Named>);
        let scorers = asks.measures.iter().map(|measure| self.scorer(*measure));
        let mut simulators = asks.simulators.iter().map(|model_type| self.user_sim(model_type));
        let judge = judges.chain(scorers).find_map(|model| absent(&*model));
        let judge = judge.map(|why| Failure::new(FailureKind::JudgeMissing, format!("no judge can be asked: {why}")));
        judge.or_else(|| {
            let why = simulators.find_map(|model| absent(&*model))?;
            Some(Failure::new(FailureKind::Misconfigured, format!("nobody can play the user: {why}")))
        })
    }

    /// Every endpoint that somebody may be asked at and that has no key, said once each.
    #[must_use]
    pub fn absent(&self) -> BTreeSet<String> {
        let chats = [&self.user_sim, &self.judge].into_iter().chain(self.by_type.values());
        let chats = chats.map(|model| Arc::clone(model) as Arc<dyn Named>);
        let scorers =
            [Measure::Similarity, Measure::Answer, Measure::NextSentence, Measure::Toxicity].map(|it| self.scorer(it));
        chats.chain(scorers).filter_map(|model| absent(&*model)).collect()
    }

    /// The model that makes this measurement: its own, or the judge.
    fn scorer(&self, measure: Measure) -> Arc<dyn Named> {
        fn named<M: Measurement>(model: &Option<Arc<dyn Measures<M>>>) -> Option<Arc<dyn Named>> {
            Some(Arc::clone(model.as_ref()?) as Arc<dyn Named>)
        }
        let own = match measure {
            Measure::Similarity => named(&self.scores.similarity),
            Measure::Answer => named(&self.scores.answer),
            Measure::NextSentence => named(&self.scores.next_sentence),
            Measure::Toxicity => named(&self.scores.toxicity),
        };
        own.unwrap_or_else(|| Arc::clone(&self.judge) as Arc<dyn Named>)
    }

    #[must_use]
    pub fn user_sim(&self, model_type: &str) -> Arc<dyn llm::Chat> {
        Arc::clone(self.by_type.get(model_type).unwrap_or(&self.user_sim))
    }

    #[must_use]
    pub fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat> {
        Arc::clone(model_type.and_then(|name| self.by_type.get(name)).unwrap_or(&self.judge))
    }
}

/// Which endpoint it is, and where its key was looked for.
fn absent(model: &dyn Named) -> Option<String> {
    model.absence().map(|reason| format!("endpoint {:?} has no key, {reason}", model.endpoint()))
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
