//! Asks an agent or a model once, for `gabfest ping` and for the preflight of a long run.

use std::{sync::Arc, time::Duration};

use agent::{Exchange, Start};
use llm::{Context, Message, Model, Request, Task, hint};
use record::{FailureKind, Role, call::Spend};
use serde_json::json;
use tokio::time::Instant;
use worker::Resources;

use crate::{
    clock, diagnostics,
    exit::Exit,
    settings::{MOCK, Settings},
};

/// Of what is said back.
const MOST_CHARS: usize = 60;
/// Parameters that a server may refuse one after the other.
const MOST_REFUSED: usize = 8;

/// One that was asked.
pub(crate) struct Asked {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) outcome: Result<Heard, Fault>,
    pub(crate) spend: Spend,
}

pub(crate) struct Heard {
    pub(crate) took: Duration,
    /// Read and written, where they are known.
    pub(crate) tokens: Option<(u64, u64)>,
    pub(crate) words: String,
}

pub(crate) struct Fault {
    pub(crate) exit: Exit,
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    /// One, or a line of the settings for each parameter that is refused.
    pub(crate) hints: Vec<String>,
}

pub(crate) async fn ask_agent(name: &str, resources: &Resources, patience: Duration) -> Asked {
    let mut spend = Spend::default();
    let outcome = match resources.agents.get(name) {
        Some(agent) => hear_agent(agent, patience, &mut spend).await,
        None => Err(of_agent(FailureKind::Misconfigured, "it is not defined")),
    };
    Asked { what: "agent", name: name.to_owned(), outcome, spend }
}

async fn hear_agent(agent: &Arc<dyn agent::Agent>, patience: Duration, spend: &mut Spend) -> Result<Heard, Fault> {
    let conversation = format!("ping-{}", clock::new_run_id());
    let start = Start {
        conversation: conversation.clone(),
        context: context("agent", &conversation),
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
        tokens: usage.map(|usage| (usage.input_tokens, usage.output_tokens)),
        words: words(&reply.text),
    })
}

/// Asks as the role would that the endpoint plays, so that what a server refuses is refused here.
pub(crate) async fn ask_model(name: &str, model: &dyn Model, settings: &Settings, patience: Duration) -> Asked {
    let is = |role: &Option<String>| role.as_deref().unwrap_or(MOCK) == name;
    let mut role = if is(&settings.roles.judge) { Role::Judge } else { Role::UserSim };
    let mut request = Request {
        messages: vec![Message::user("Answer with the word ok.")],
        temperature: Some(0.0),
        max_tokens: Some(settings.roles.judge_max_tokens),
        seed: Some(1),
        context: context(role.name(), "ping"),
        timeout: Some(patience),
        ..Request::default()
    };
    if is(&settings.roles.judge) {
        request.messages = vec![Message::user("Answer with the JSON object {\"answer\": \"ok\"} and nothing else.")];
        request.schema = Some(json!({
            "type": "object", "properties": { "answer": { "type": "string" } }, "required": ["answer"],
            "additionalProperties": false,
        }));
    }
    if let Some(task) = settings.scores.task_of(name).filter(|_| !settings.names_model(name)) {
        role = Role::Scorer;
        request = Request { timeout: Some(patience), context: request.context, ..Request::measure(task, &["hello"]) };
    }
    let mut spend = Spend::default();
    let outcome = hear_model(role, model, request, &mut spend).await;
    Asked { what: "endpoint", name: name.to_owned(), outcome, spend }
}

async fn hear_model(role: Role, model: &dyn Model, mut request: Request, spend: &mut Spend) -> Result<Heard, Fault> {
    let mut refused: Option<Fault> = None;
    for _ in 0..MOST_REFUSED {
        let began = Instant::now();
        let answer = model.call(&request).await;
        spend.add(&worker::spent::on_model(role, model, &answer, began.elapsed()));
        let error = match answer {
            Ok(reply) => {
                let heard = Heard {
                    took: began.elapsed(),
                    tokens: Some((reply.usage.input_tokens, reply.usage.output_tokens)),
                    words: if request.task == Task::Complete { words(&reply.text) } else { "a measure".to_owned() },
                };
                return refused.map_or(Ok(heard), Err);
            }
            Err(failed) => failed.error,
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

/// Takes a parameter out of the request; whether it was there.
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
        llm::Error::Refused { .. } => FailureKind::AgentRefused,
        llm::Error::Throttled { .. } => FailureKind::AgentThrottled,
        llm::Error::TimedOut { .. } => FailureKind::AgentTimeout,
        llm::Error::Malformed { .. } => FailureKind::AgentMalformed,
        llm::Error::Unreachable { status: Some(_), .. } => FailureKind::AgentFailed,
        llm::Error::Unreachable { status: None, .. } => FailureKind::AgentUnreachable,
        llm::Error::OutOfResources { .. } => FailureKind::OutOfResources,
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        llm::Error::Unsupported { .. } | llm::Error::Unwritable { .. } | llm::Error::NoKey { .. } => {
            FailureKind::Misconfigured
        }
    };
    of_agent(kind, &error.to_string())
}

/// What is refused, or is no reply, must be mended in the settings; what is not there, or is busy, may come back.
fn of_agent(kind: FailureKind, message: &str) -> Fault {
    let exit = match kind {
        FailureKind::AgentRefused | FailureKind::AgentMalformed | FailureKind::Misconfigured => Exit::Usage,
        FailureKind::ProviderExhausted => Exit::Budget,
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
    let line = report::terminal::clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let first: String = line.chars().take(MOST_CHARS).collect();
    if first.len() < line.len() { format!("{first:?}…") } else { format!("{first:?}") }
}
