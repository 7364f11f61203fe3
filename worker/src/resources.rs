//! The worker's resources: agents, models, hooks, checks and the permission to execute, all from its operator's settings.
//!
//! A plan names them; it never has an address or a key.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use llm::{Measures, Named, measure::Measurement};
use record::{Failure, FailureKind};
use scenario::{Asks, Measure};

use crate::{
    custom_check::CustomCheck, environment::Execution, rerun::Rerun, state_host::StateHost, termination::hook::Hook,
    tool_server::ToolServer, trial::Ticket,
};

pub struct Resources {
    /// Agents under test, by name.
    pub agents: BTreeMap<String, Arc<dyn agent::Agent>>,
    pub models: Models,
    /// Termination hooks, by name.
    pub hooks: BTreeMap<String, Hook>,
    /// Checks of users, by name.
    pub checks: BTreeMap<String, CustomCheck>,
    /// Services whose state checks read, by name.
    pub state_hosts: BTreeMap<String, StateHost>,
    /// Addresses of databases that scenarios may seed and checks may read, by name.
    pub databases: BTreeMap<String, String>,
    pub execution: Execution,
    /// Serves tools to agents that call them themselves.
    pub tool_server: ToolServer,
    /// Wall time in Unix milliseconds, for the mocks that answer with it.
    pub now_millis: fn() -> i64,
    /// Exports finished trials as traces, if traces are on.
    pub traces: telemetry::Traces,
    /// Counts calls, turns and trials, if metrics are on.
    pub metrics: telemetry::metrics::Worker,
    /// What the calls in flight may cost at most, in nano-dollars.
    pub unsettled: Box<dyn Fn() -> i64 + Send + Sync>,
    /// The limits of all endpoints and agents. The worker uses its share of each.
    pub limits: Vec<Arc<llm::limit::Limiter>>,
    /// The money of runs with a budget, from which calls behind these limits pay.
    pub purses: Arc<llm::money::Purses>,
    /// Recorded trials that are judged again or said again; `None`: trials are played.
    pub rerun: Option<Rerun>,
}

impl Resources {
    /// The limits of endpoints that should not be called now: their circuit breakers are open.
    pub(crate) fn closed_endpoints(&self) -> Vec<&str> {
        self.limits.iter().filter(|limit| limit.closed_to_new().is_some()).map(|limit| limit.name()).collect()
    }

    /// Whether a trial asks one of these for its user or for a judge. Its agent is called whatever happens.
    pub(crate) fn needs(&self, ticket: &Ticket, closed: &[&str]) -> bool {
        let Ok(script) = ticket.scripts.of_case(ticket.trial.case) else { return false };
        let is_closed = |endpoint: &str| {
            let of_endpoint = |limit: &&str| *limit == endpoint || limit.starts_with(&format!("{endpoint} ("));
            closed.iter().any(of_endpoint)
        };
        self.models.asked(&script.asks).iter().any(|model| is_closed(model.endpoint()))
    }
}

/// The language models of gabfest's own roles. [`llm::Absent`] replaces a model without a key.
#[derive(Debug, Clone)]
pub struct Models {
    pub user_sim: Arc<dyn llm::Chat>,
    pub judge: Arc<dyn llm::Chat>,
    /// By model type, such as `TEXT_LARGE`; a type that is not here means the role's own model.
    pub by_type: BTreeMap<String, Arc<dyn llm::Chat>>,
    /// Models that score texts. The judge scores whatever they do not.
    pub scores: evaluate::scorer::Models,
    /// The most tokens of one answer of a judge, its reasoning included.
    pub judge_max_tokens: u32,
}

impl Models {
    /// Why a scenario with these questions cannot be played: a judge is missing, or the simulated user.
    #[must_use]
    pub fn missing(&self, asks: &Asks) -> Option<Failure> {
        let judges = asks.judges.iter().map(|model_type| self.judge(model_type.as_deref()) as Arc<dyn Named>);
        let scorers = asks.measures.iter().map(|measure| self.scorer(*measure));
        let mut simulators = asks.simulators.iter().map(|model_type| self.user_sim(model_type));
        let judge = judges.chain(scorers).find_map(|model| absent(&*model));
        let judge = judge.map(|why| Failure::new(FailureKind::JudgeMissing, format!("no judge can be asked: {why}")));
        judge.or_else(|| {
            let why = simulators.find_map(|model| absent(&*model))?;
            Some(Failure::new(FailureKind::Misconfigured, format!("no model can play the user: {why}")))
        })
    }

    /// The models that answer these questions.
    fn asked(&self, asks: &Asks) -> Vec<Arc<dyn Named>> {
        let judges = asks.judges.iter().map(|model_type| self.judge(model_type.as_deref()) as Arc<dyn Named>);
        let simulators = asks.simulators.iter().map(|model_type| self.user_sim(model_type) as Arc<dyn Named>);
        judges.chain(simulators).chain(asks.measures.iter().map(|measure| self.scorer(*measure))).collect()
    }

    /// Every endpoint whose key is missing, once each.
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

/// The endpoint, and where its key was expected.
fn absent(model: &dyn Named) -> Option<String> {
    model.absence().map(|reason| format!("endpoint {:?} has no key, {reason}", model.endpoint()))
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources")
            .field("agents", &self.agents.keys())
            .field("models", &self.models)
            .field("hooks", &self.hooks.keys())
            .field("checks", &self.checks.keys())
            .field("databases", &self.databases.keys())
            .field("execution", &self.execution)
            .field("tool_server", &self.tool_server)
            .finish_non_exhaustive()
    }
}
