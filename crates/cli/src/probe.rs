//! Asks an agent or a model once, for `gabfest ping` and for the preflight of a long run.

use std::{sync::Arc, time::Duration};

use agent::{Exchange, Start};
use llm::{
    Allowed, Chat, Context, Failed, Measures, Message, Receipt,
    chat::Request,
    endpoint::Endpoint,
    hint,
    measure::{self, Embed, Measurement, Moderate},
    retry::Policy,
};
use record::{FailureKind, Role, call::Spend};
use serde_json::json;
use tokio::time::Instant;
use worker::Resources;

use crate::{
    clock, diagnostics,
    exit::Exit,
    scores::Address,
    settings::{MOCK, Settings},
};

/// Of the reply that is shown.
const MOST_CHARS: usize = 60;
/// A server refuses one parameter at a time; the probe gives up after this many.
const MOST_REFUSED: usize = 8;

/// An agent or model that was asked.
pub(crate) struct Asked {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) outcome: Result<Heard, Fault>,
    pub(crate) spend: Spend,
}

pub(crate) struct Heard {
    pub(crate) took: Duration,
    /// Input and output, if they are known.
    pub(crate) tokens: Option<(u64, u64)>,
    pub(crate) words: String,
    /// What the server seems to allow in a minute: one answer does not prove the length of a window.
    pub(crate) allowed: Allowed,
}

pub(crate) struct Fault {
    pub(crate) exit: Exit,
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    /// One, or a line of the settings for each parameter that is refused.
    pub(crate) hints: Vec<String>,
}

/// The variables of a scenario, for an agent whose requests use them.
pub(crate) type Vars = Option<Arc<serde_json::Map<String, serde_json::Value>>>;

pub(crate) async fn ask_agent(name: &str, resources: &Resources, vars: Vars, patience: Duration) -> Asked {
    let mut spend = Spend::default();
    let outcome = match resources.agents.get(name) {
        Some(agent) => hear_agent(agent, vars, patience, &mut spend).await,
        None => Err(of_agent(FailureKind::Misconfigured, "it is not defined")),
    };
    Asked { what: "agent", name: name.to_owned(), outcome, spend }
}

async fn hear_agent(
    agent: &Arc<dyn agent::Agent>,
    vars: Vars,
    patience: Duration,
    spend: &mut Spend,
) -> Result<Heard, Fault> {
    let conversation = format!("ping-{}", clock::new_run_id());
    let start = Start {
        conversation: conversation.clone(),
        context: Context { vars, ..context("agent", &conversation) },
        seed: 0,
        opening: Vec::new(),
        plugins: Vec::new(),
        tools: None,
    };
    let began = Instant::now();
    let failed = |error: agent::Error| of_agent(error.kind, &error.message);
    let mut session = agent.open(start).await.map_err(failed)?;
    let hello = [scenario::Message::user("Hello")];
    let exchange = Exchange { messages: &hello, turn: 1, timeout: patience, trace: None, cue: None };
    let said = session.say(exchange).await;
    spend.add(&worker::spent::on_agent(&**agent, &said, began.elapsed(), patience));
    let reply = said.map_err(failed)?;
    let usage = reply.usage.filter(|usage| !usage.estimated);
    Ok(Heard {
        took: began.elapsed(),
        tokens: usage.map(|usage| (usage.input, usage.output)),
        words: words(&reply.text),
        allowed: agent.limit().map(|limit| limit.reported().of_about_a_minute()).unwrap_or_default(),
    })
}

/// Asks an endpoint for everything that the settings use it for.
pub(crate) async fn ask_endpoint(name: &str, endpoint: &Endpoint, settings: &Settings, patience: Duration) -> Asked {
    match settings.scores.address_of(name).filter(|_| !settings.names_model(name)) {
        None => ask_model(name, &*endpoint.chat(Policy::model()), settings, patience).await,
        Some(Address::Embeddings) => {
            let texts = Embed { texts: vec!["hello".to_owned()] };
            ask_scorer(name, &*endpoint.embeddings(), texts, settings, patience).await
        }
        Some(Address::Moderations) => {
            ask_scorer(name, &*endpoint.moderations(), Moderate { text: "hello".to_owned() }, settings, patience).await
        }
    }
}

async fn ask_scorer<M: Measurement>(
    name: &str,
    model: &dyn Measures<M>,
    of: M,
    settings: &Settings,
    patience: Duration,
) -> Asked {
    let context = context(role_of(name, settings).name(), "ping");
    let request = measure::Request { timeout: Some(patience), context, ..measure::Request::new(of) };
    let began = Instant::now();
    let answer = model.call(&request).await;
    let receipt = answer.as_ref().map(|reply| &reply.receipt);
    let spend = worker::spent::on_model(Role::Scorer, model, receipt, began.elapsed());
    let outcome = match receipt {
        Ok(receipt) => Ok(heard(receipt, began.elapsed(), "a measure".to_owned())),
        Err(failed) => Err(of_model(&failed.error)),
    };
    Asked { what: "endpoint", name: name.to_owned(), outcome, spend }
}

fn heard(receipt: &Receipt, took: Duration, words: String) -> Heard {
    let tokens = Some((receipt.usage.input, receipt.usage.output));
    Heard { took, tokens, words, allowed: receipt.windows.of_about_a_minute() }
}

fn role_of(endpoint: &str, settings: &Settings) -> Role {
    let is_judge = settings.roles.judge.as_deref().unwrap_or(MOCK) == endpoint;
    if is_judge { Role::Judge } else { Role::UserSim }
}

/// Sends a request like those of the endpoint's role, so that a server that would refuse them in a run refuses here.
pub(crate) async fn ask_model(name: &str, model: &dyn Chat, settings: &Settings, patience: Duration) -> Asked {
    let role = role_of(name, settings);
    let mut request = Request {
        messages: vec![Message::user("Answer with the word ok.")],
        temperature: Some(0.0),
        max_tokens: Some(settings.roles.judge_max_tokens),
        seed: Some(1),
        context: context(role.name(), "ping"),
        timeout: Some(patience),
        ..Request::default()
    };
    if role == Role::Judge {
        request.messages = vec![Message::user("Answer with the JSON object {\"answer\": \"ok\"} and nothing else.")];
        request.schema = Some(json!({
            "type": "object", "properties": { "answer": { "type": "string" } }, "required": ["answer"],
            "additionalProperties": false,
        }));
    }
    let mut spend = Spend::default();
    let outcome = hear_model(role, model, request, &mut spend).await;
    Asked { what: "endpoint", name: name.to_owned(), outcome, spend }
}

async fn hear_model(role: Role, model: &dyn Chat, mut request: Request, spend: &mut Spend) -> Result<Heard, Fault> {
    let mut refused: Option<Fault> = None;
    for _ in 0..MOST_REFUSED {
        let began = Instant::now();
        let answer = model.call(&request).await;
        let receipt = answer.as_ref().map(|reply| &*reply.receipt);
        spend.add(&worker::spent::on_model(role, model, receipt, began.elapsed()));
        let error = match answer {
            Ok(reply) => {
                let heard = heard(&reply.receipt, began.elapsed(), words(&reply.text));
                return refused.map_or(Ok(heard), Err);
            }
            Err(Failed { error, .. }) => error,
        };
        // One parameter is refused at a time; without it the next one shows.
        let without = match &error {
            llm::Error::Unsupported { parameter, .. } => leave_out(&mut request, parameter),
            _ => false,
        };
        let fault = of_model(&error);
        match &mut refused {
            Some(first) if without || matches!(error, llm::Error::Unsupported { .. }) => {
                first.hints.extend(fault.hints);
            }
            Some(_) => {}
            None => refused = Some(fault),
        }
        if !without {
            break;
        }
    }
    Err(refused.unwrap_or_else(|| of_agent(FailureKind::Misconfigured, "it refuses every parameter")))
}

/// Removes a parameter from the request. Returns whether it was present.
fn leave_out(request: &mut Request, parameter: &str) -> bool {
    match parameter {
        "temperature" => request.temperature.take().is_some(),
        "seed" => request.seed.take().is_some(),
        "max_tokens" | "max_completion_tokens" => request.max_tokens.take().is_some(),
        "response_format" => request.schema.take().is_some(),
        _ => false,
    }
}

fn of_model(error: &llm::Error) -> Fault {
    let kind = match error {
        error if error.is_of_settings() => FailureKind::Misconfigured,
        llm::Error::Refused { .. } => FailureKind::AgentRefused,
        llm::Error::Throttled { .. } => FailureKind::AgentThrottled,
        llm::Error::TimedOut { .. } => FailureKind::AgentTimeout,
        llm::Error::Malformed { .. } => FailureKind::AgentMalformed,
        llm::Error::Unreachable { status: Some(_), .. } => FailureKind::AgentFailed,
        llm::Error::Unreachable { status: None, .. } => FailureKind::AgentUnreachable,
        llm::Error::OutOfResources { .. } => FailureKind::OutOfResources,
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        llm::Error::NoMoney { .. } => FailureKind::BudgetUsedUp,
        llm::Error::Unsupported { .. }
        | llm::Error::Unwritable { .. }
        | llm::Error::NoKey { .. }
        | llm::Error::NotRecorded { .. } => FailureKind::Misconfigured,
    };
    of_agent(kind, &error.to_string())
}

/// Settings must change if a call is refused or not answered with a reply; a server that is down or busy may recover.
fn of_agent(kind: FailureKind, message: &str) -> Fault {
    let exit = match kind {
        FailureKind::AgentRefused | FailureKind::AgentMalformed | FailureKind::Misconfigured => Exit::Usage,
        FailureKind::ProviderExhausted | FailureKind::BudgetUsedUp => Exit::Budget,
        _ => Exit::NotEnoughEvidence,
    };
    let (message, mend) = hint::split(message);
    Fault { exit, kind, message: diagnostics::visible(message), hints: mend.map(str::to_owned).into_iter().collect() }
}

fn context(role: &str, conversation: &str) -> Context {
    Context {
        role: role.to_owned(),
        run: "ping".to_owned(),
        conversation: conversation.to_owned(),
        turn: 1,
        idempotency_key: format!("{conversation}/{role}"),
        ..Context::default()
    }
}

/// The first words, in quotes.
fn words(text: &str) -> String {
    let line = report::clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let first: String = line.chars().take(MOST_CHARS).collect();
    if first.len() < line.len() { format!("{first:?}…") } else { format!("{first:?}") }
}
