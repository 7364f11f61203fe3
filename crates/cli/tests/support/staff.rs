//! What the tests with real workers in one process share: resources of a worker, and plans.

use std::{collections::BTreeMap, sync::Arc};

use formats::read;
use llm::{Chat, endpoint::Endpoint, limit::Limiter, retry::Policy};
use record::{Trial, view::verdict_view};
use scenario::{
    Plan,
    plan::{self, Choices},
};
use serde_json::{Value, json};
use worker::{Models, Resources, environment::Execution};

/// A worker's resources: `asked` is the agent `mock`, and `endpoint` plays user and judge.
pub(crate) fn resources(endpoint: &Arc<Endpoint>, asked: Arc<dyn Chat>, limits: Vec<Arc<Limiter>>) -> Resources {
    let endpoint = Arc::clone(endpoint);
    let agent = agent::build("mock", &agent::Settings::default(), asked);
    let model = || endpoint.chat(Policy::model());
    let models = Models {
        user_sim: model(),
        judge: model(),
        by_type: BTreeMap::new(),
        scores: Default::default(),
        judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
    };
    Resources {
        agents: BTreeMap::from([("mock".to_owned(), agent)]),
        models,
        hooks: BTreeMap::new(),
        checks: BTreeMap::new(),
        state_hosts: BTreeMap::new(),
        databases: BTreeMap::new(),
        execution: Execution::Off,
        tool_server: Default::default(),
        now_millis: || 0,
        traces: telemetry::Traces::off(),
        metrics: telemetry::metrics::Worker::default(),
        unsettled: Box::new(move || endpoint.unsettled_nanos()),
        purses: {
            let purses = Arc::default();
            limits.iter().for_each(|limit: &Arc<Limiter>| limit.pay_from(&purses));
            purses
        },
        limits,
        rerun: None,
    }
}

/// A plan of one scenario with these steps.
pub(crate) fn plan(steps: &Value, repeats: u32) -> Plan {
    let scenario = json!({
        "name": "night", "description": "d", "environment": { "type": "local" },
        "run": steps, "judgment": { "strategy": "all_pass" },
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.scenario.yaml");
    // JSON is YAML.
    std::fs::write(&path, scenario.to_string()).unwrap();
    let reading = read::read(&[path]);
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let choices = Choices { seed: 7, repeats: Some(repeats), ..Choices::default() };
    plan::build(&reading, &choices).unwrap()
}

/// An exported trial, and everything of it that must not depend on how it was played: its verdict view and its words.
pub(crate) fn seen(exported: proto::ExportedTrial) -> (Trial, Value) {
    let proto::ExportedTrial { trial, turns, unreadable } = exported;
    assert_eq!(unreadable, "");
    let trial = proto::trial::from_wire(trial.unwrap()).unwrap();
    assert_eq!(trial.turns as usize, turns.len(), "all words of trial {} are there", trial.number);
    let mut view = verdict_view(&trial);
    let turns = turns.into_iter().map(|turn| proto::turn::from_bytes(turn).unwrap());
    view["words"] = turns.map(|turn| json!([turn.number, turn.user, turn.agent])).collect();
    (trial, view)
}
