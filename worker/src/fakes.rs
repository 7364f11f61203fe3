//! Fakes for tests of trials: agents and models that do what a test says, and plans made of JSON.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::{Exchange, Start};
use async_trait::async_trait;
use formats::read;
use record::FailureKind;
use scenario::{Message, Plan, plan::Choices};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{Models, Resources, environment::Execution};

const SECOND: Duration = Duration::from_secs(1);

/// What a fake agent does with a message.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Says(String),
    /// Has a rate-limit wait, then takes its time, then says it.
    SaysAfter(Duration, Duration, String),
    /// Has a rate-limit wait, and then never answers.
    Hangs(Duration),
    Fails(FailureKind),
    /// A reply of several requests, or the failure of a later one.
    Replies(Box<agent::Reply>),
    Breaks(Box<agent::Error>),
    Panics,
}

type Deed = dyn Fn(u32, &str) -> Does + Send + Sync;

/// An agent whose every action is a function of the turn and the message.
pub(crate) struct FakeAgent {
    pub(crate) plugins: bool,
    deed: Arc<Deed>,
    pub(crate) starts: Mutex<Vec<Start>>,
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
    /// The texts that replaced its answers.
    pub(crate) replaced: Arc<Mutex<Vec<String>>>,
}

impl FakeAgent {
    pub(crate) fn new(deed: impl Fn(u32, &str) -> Does + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            plugins: false,
            deed: Arc::new(deed),
            starts: Mutex::default(),
            heard: Arc::default(),
            replaced: Arc::default(),
        })
    }

    pub(crate) fn saying(text: &str) -> Arc<Self> {
        let text = text.to_owned();
        Self::new(move |_, _| Does::Says(text.clone()))
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl fmt::Debug for FakeAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeAgent")
    }
}

#[async_trait]
impl agent::Agent for FakeAgent {
    fn name(&self) -> &str {
        "mock"
    }

    fn understands_plugins(&self) -> bool {
        self.plugins
    }

    async fn open(&self, start: Start) -> Result<Box<dyn agent::Session>, agent::Error> {
        self.starts.lock().unwrap().push(start);
        Ok(Box::new(FakeSession {
            deed: Arc::clone(&self.deed),
            heard: Arc::clone(&self.heard),
            replaced: Arc::clone(&self.replaced),
        }))
    }
}

struct FakeSession {
    deed: Arc<Deed>,
    heard: Arc<Mutex<Vec<String>>>,
    replaced: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl agent::Session for FakeSession {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<agent::Reply, agent::Error> {
        let said = scenario::message::said(exchange.messages);
        self.heard.lock().unwrap().push(said.clone());
        let failed = |kind: FailureKind| agent::Error {
            effort: llm::Effort { tries: 1, ..llm::Effort::default() },
            ..agent::Error::new(kind, kind.name(), agent::Spent::Unknown)
        };
        let (wait, total, text) = match (self.deed)(exchange.turn, &said) {
            Does::Says(text) => (Duration::ZERO, Duration::ZERO, text),
            Does::SaysAfter(wait, total, text) => (wait, total, text),
            Does::Hangs(wait) => {
                sleep(wait + exchange.timeout).await;
                return Err(failed(FailureKind::AgentTimeout));
            }
            Does::Fails(kind) => return Err(failed(kind)),
            Does::Replies(reply) => {
                sleep(reply.ended()).await;
                return Ok(*reply);
            }
            Does::Breaks(error) => {
                sleep(error.earlier.as_deref().map_or(Duration::ZERO, agent::Reply::ended) + SECOND).await;
                return Err(*error);
            }
            Does::Panics => panic!("the test said so"),
        };
        sleep(wait + total.min(exchange.timeout)).await;
        if total > exchange.timeout {
            return Err(failed(FailureKind::AgentTimeout));
        }
        Ok(agent::Reply {
            text,
            usage: Some(llm::Usage { input: 7, output: 11, ..llm::Usage::default() }),
            model: "fake-agent".to_owned(),
            timing: llm::Timing { wait, total, ..llm::Timing::default() },
            tries: 1,
            cost_nanos: Some(1_000),
            ..agent::Reply::default()
        })
    }

    fn replace_last_answer(&mut self, answer: &Message) {
        self.replaced.lock().unwrap().push(answer.text());
    }
}

type Answer = dyn Fn(&llm::chat::Request) -> Result<String, llm::Error> + Send + Sync;

/// A model whose every answer is a function of the request.
pub(crate) struct FakeModel {
    name: &'static str,
    answer: Box<Answer>,
    /// The rate-limit wait, and then the time of the answer.
    pub(crate) takes: (Duration, Duration),
    pub(crate) asked: Mutex<Vec<llm::chat::Request>>,
}

impl FakeModel {
    pub(crate) fn new(
        name: &'static str,
        answer: impl Fn(&llm::chat::Request) -> Result<String, llm::Error> + Send + Sync + 'static,
    ) -> Self {
        Self { name, answer: Box::new(answer), takes: Default::default(), asked: Mutex::default() }
    }

    pub(crate) fn saying(name: &'static str, text: &str) -> Self {
        let text = text.to_owned();
        Self::new(name, move |_| Ok(text.clone()))
    }

    /// A server that cannot be reached.
    pub(crate) fn down(name: &'static str) -> Self {
        Self::new(name, move |_| {
            let (endpoint, message) = (name.to_owned(), "connection refused".to_owned());
            Err(llm::Error::Unreachable { endpoint, status: None, message, sent: false })
        })
    }

    pub(crate) fn after(self, wait: Duration, total: Duration) -> Self {
        Self { takes: (wait, total), ..self }
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl fmt::Debug for FakeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl llm::Named for FakeModel {
    fn endpoint(&self) -> &str {
        self.name
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for FakeModel {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        self.asked.lock().unwrap().push(request.clone());
        let (wait, total) = self.takes;
        sleep(wait + total).await;
        let receipt = Box::new(llm::Receipt {
            usage: llm::Usage { input: 3, output: 2, ..llm::Usage::default() },
            model: format!("{}-model", self.name),
            timing: llm::Timing { wait, total, ..llm::Timing::default() },
            tries: 1,
            cost_nanos: Some(10),
            ..llm::Receipt::default()
        });
        let text = with_quotes((self.answer)(request)?, request);
        Ok(llm::chat::Reply { text, receipt, ..llm::chat::Reply::default() })
    }
}

/// Adds an empty list of quotes to the answer if the question asks for quotes.
pub(crate) fn with_quotes(text: String, request: &llm::chat::Request) -> String {
    let wanted = request.schema.as_ref().is_some_and(|schema| schema.pointer("/properties/quotes").is_some());
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(serde_json::Value::Object(mut fields)) if wanted => {
            fields.entry("quotes").or_insert_with(|| serde_json::json!([]));
            serde_json::Value::Object(fields).to_string()
        }
        _ => text,
    }
}

/// A judge that is sure.
pub(crate) const YES: &str = r#"{"judgment":"yes","confidence":1.0,"reasoning":"it is"}"#;
pub(crate) const NO: &str = r#"{"judgment":"no","confidence":1.0,"reasoning":"it is not"}"#;

/// The agent, the user and the judge of a test.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) agent: Arc<FakeAgent>,
    pub(crate) user_sim: Arc<FakeModel>,
    pub(crate) judge: Arc<FakeModel>,
    pub(crate) execution: Execution,
}

impl Cast {
    pub(crate) fn new(agent: Arc<FakeAgent>, user_sim: FakeModel, judge: FakeModel) -> Self {
        Self { agent, user_sim: Arc::new(user_sim), judge: Arc::new(judge), execution: Execution::Off }
    }

    /// A user who always says the same, an agent that always answers the same, and a judge that agrees.
    pub(crate) fn plain() -> Self {
        Self::with(FakeAgent::saying("It is sunny."))
    }

    pub(crate) fn with(agent: Arc<FakeAgent>) -> Self {
        Self::new(agent, FakeModel::saying("user_sim", "And tomorrow?"), FakeModel::saying("judge", YES))
    }

    pub(crate) fn resources(&self) -> Arc<Resources> {
        let agent: Arc<dyn agent::Agent> = Arc::clone(&self.agent) as _;
        let models = Models {
            user_sim: Arc::clone(&self.user_sim) as _,
            judge: Arc::clone(&self.judge) as _,
            by_type: BTreeMap::new(),
            scores: Default::default(),
            judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
        };
        Arc::new(resources(agent, models, self.execution.clone()))
    }
}

pub(crate) fn resources(agent: Arc<dyn agent::Agent>, models: Models, execution: Execution) -> Resources {
    Resources {
        agents: BTreeMap::from([("mock".to_owned(), agent)]),
        models,
        hooks: BTreeMap::new(),
        checks: BTreeMap::new(),
        state_hosts: BTreeMap::new(),
        databases: BTreeMap::new(),
        execution,
        tool_server: crate::tool_server::ToolServer::default(),
        now_millis: || 0,
        traces: telemetry::Traces::off(),
        metrics: telemetry::metrics::Worker::default(),
        unsettled: Box::new(|| 0),
        limits: Vec::new(),
        purses: Arc::default(),
        rerun: None,
    }
}

/// A scenario file of these steps, for `all_pass`. `more` adds or replaces keys.
pub(crate) fn scenario(steps: Value, more: Value) -> Value {
    let scenario = json!({
        "name": "weather", "description": "d", "environment": { "type": "local" },
        "run": steps, "judgment": { "strategy": "all_pass" },
    });
    merged(scenario, more)
}

/// A step with a conversation of at most three turns.
pub(crate) fn talk(more: Value) -> Value {
    let talk = json!({
        "max_turns": 3,
        "user_simulator": { "persona": "a traveller", "objective": "learn the weather" },
    });
    json!({ "name": "talk", "input": "How is the weather?", "conversation": merged(talk, more) })
}

fn merged(mut value: Value, more: Value) -> Value {
    let (Value::Object(fields), Value::Object(more)) = (&mut value, more) else { panic!("two objects") };
    fields.extend(more);
    value
}

pub(crate) fn plan(scenario: &Value, repeats: u32) -> Arc<Plan> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.scenario.yaml");
    // JSON is YAML.
    std::fs::write(&path, scenario.to_string()).unwrap();
    let reading = read::read(&[path]);
    assert!(reading.scenarios.len() == 1, "{:?}", reading.diagnostics);
    let choices = Choices { seed: 7, repeats: Some(repeats), ..Choices::default() };
    Arc::new(scenario::plan::build(&reading, &choices).unwrap())
}

/// An empty record of a call.
pub(crate) fn call() -> record::Call {
    let took = crate::recorder::Took { held: Duration::ZERO, elapsed: SECOND, effort: llm::Effort::default() };
    let kind = record::call::ErrorKind::Other;
    record::Call {
        error: None,
        error_kind: None,
        ..crate::recorder::failed_call(record::Role::Agent, "e", 0, took, &"", kind)
    }
}
