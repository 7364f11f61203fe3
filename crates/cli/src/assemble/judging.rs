//! The resources of a worker that judges recorded trials again: judges, and agents that say nothing.

use std::{collections::BTreeMap, sync::Arc};

use agent::{Agent, Session, Spent, Start};
use anyhow::anyhow;
use async_trait::async_trait;
use llm::cassette::Tape;
use record::FailureKind;
use scenario::Plan;
use telemetry::Traces;
use worker::{Models, Resources, environment::Execution, rerun::Rerun, tool_server::ToolServer};

use crate::{
    assemble::{Endpoints, paying},
    clock,
    exit::usage,
    scores,
    settings::{MOCK, Settings},
};

/// Builds the judges and nothing else. `judge`: an endpoint that answers instead of all judges of the settings.
pub(crate) async fn judging(
    settings: &Settings,
    plan: &Plan,
    judge: Option<&str>,
    tape: &Tape,
    rerun: Rerun,
) -> anyhow::Result<Resources> {
    let mut endpoints = Endpoints::new(settings, tape.clone());
    let models = models(&mut endpoints, settings, judge, tape).await?;
    if let Some(reason) = models.judge.absence() {
        let endpoint = models.judge.endpoint();
        return Err(usage(anyhow!("the judge cannot be asked: endpoint {endpoint:?} has no key, {reason}")));
    }
    let opened: Vec<_> = endpoints.opened.into_values().collect();
    let limits: Vec<_> = opened.iter().map(|endpoint| Arc::clone(endpoint.limit())).collect();
    Ok(Resources {
        agents: agents(settings, plan),
        models,
        hooks: BTreeMap::new(),
        checks: BTreeMap::new(),
        state_hosts: BTreeMap::new(),
        databases: BTreeMap::new(),
        execution: Execution::Off,
        tool_server: ToolServer::default(),
        now_millis: clock::now_millis,
        traces: Traces::off(),
        metrics: telemetry::metrics::Worker::default(),
        purses: paying(&limits),
        limits,
        unsettled: Box::new(move || opened.iter().map(|endpoint| endpoint.unsettled_nanos()).sum()),
        rerun: Some(rerun),
    })
}

/// The judges of the settings. One without a key is absent.
pub(crate) async fn judges(settings: &Settings) -> anyhow::Result<Models> {
    models(&mut Endpoints::new(settings, Tape::Off), settings, None, &Tape::Off).await
}

async fn models(
    endpoints: &mut Endpoints<'_>,
    settings: &Settings,
    judge: Option<&str>,
    tape: &Tape,
) -> anyhow::Result<Models> {
    let usual = settings.roles.judge.as_deref().unwrap_or(MOCK);
    let model = endpoints.chat(judge.unwrap_or(usual))?;
    let mut by_type = BTreeMap::new();
    if judge.is_none() {
        for (model_type, name) in &settings.models {
            by_type.insert(model_type.clone(), endpoints.chat(name)?);
        }
    }
    Ok(Models {
        user_sim: Arc::clone(&model),
        judge: model,
        by_type,
        scores: scores::models(&settings.scores, tape, &mut |name| endpoints.find(name)).await?,
        judge_max_tokens: settings.roles.judge_max_tokens,
    })
}

/// The agents that a plan names. Nobody talks to them; judges may see their system prompts.
fn agents(settings: &Settings, plan: &Plan) -> BTreeMap<String, Arc<dyn Agent>> {
    let testers = plan.groups.iter().filter_map(|group| formats::named(&group.format)?.agents(&group.document));
    let names = plan.agents.iter().cloned().chain(testers.map(str::to_owned));
    let silent = |name: String| {
        let system = settings.agents.get(&name).and_then(|agent| agent.system.clone());
        (name.clone(), Arc::new(Silent { name, system }) as Arc<dyn Agent>)
    };
    names.map(silent).collect()
}

/// An agent that nobody talks to.
#[derive(Debug)]
struct Silent {
    name: String,
    system: Option<String>,
}

#[async_trait]
impl Agent for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    fn understands_plugins(&self) -> bool {
        true
    }

    async fn open(&self, _: Start) -> Result<Box<dyn Session>, agent::Error> {
        let message = format!("agent {} is not asked while recorded trials are judged again", self.name);
        Err(agent::Error::new(FailureKind::Misconfigured, message, Spent::Nothing))
    }
}
