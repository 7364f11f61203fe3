//! `gabfest ping`: each agent and model is asked once, and what comes back is printed. A long run begins with the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
    time::Duration,
};

use agent::{Exchange, Start};
use anyhow::anyhow;
use llm::{Context, Message, Model, Request, Task, hint};
use record::{FailureKind, Role, call::Spend};
use scenario::Plan;
use serde_json::json;
use tokio::time::Instant;
use worker::Resources;

use crate::{
    args::Ping,
    assemble, clock, diagnostics,
    exit::{Exit, usage},
    judges, measured, plan,
    settings::{self, MOCK, Settings},
    stdout,
};

/// Runs with as many trials ask their agents and models before they begin: a shorter one shows as soon what is wrong.
pub(crate) const LONG_TRIALS: u64 = 20;
/// An agent may fail now and then; one that fails so often in a row, and alike, is not only partly down. A failure that
/// takes its time, because a connection is tried again and again, must be seen less often.
const MOST_ASKED: u32 = 20;
const LEAST_ASKED: u32 = 3;
const ENOUGH: Duration = Duration::from_secs(20);
/// Before a run.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of what is said back.
const MOST_CHARS: usize = 60;
/// Parameters that a server may refuse one after the other.
const MOST_REFUSED: usize = 8;

/// One that was asked.
struct Asked {
    what: &'static str,
    name: String,
    outcome: Result<Heard, Fault>,
    spend: Spend,
}

struct Heard {
    took: Duration,
    /// Read and written, where they are known.
    tokens: Option<(u64, u64)>,
    words: String,
}

struct Fault {
    exit: Exit,
    kind: FailureKind,
    message: String,
    /// One, or a line of the settings for each parameter that is refused.
    hints: Vec<String>,
}

pub(crate) async fn ping(args: &Ping) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let addresses: Vec<String> = args.names.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let resources = assemble::resources(&read, &addresses, &args.capacity, None).await?;
    let patience = Duration::from_secs(args.timeout);
    let (agents, endpoints) = chosen(&args.names, &read.settings)?;
    let mut exit = Exit::Held;
    let mut seconds = BTreeMap::new();
    for name in &agents {
        let asked = ask_agent(name, &resources, patience).await;
        exit = show(&asked, exit, &mut seconds)?;
    }
    for name in &endpoints {
        let asked = match assemble::model(&read.settings, name)? {
            Ok(model) => ask_model(name, &*model, &read.settings, patience).await,
            Err(reason) => Asked {
                what: "endpoint",
                name: name.clone(),
                outcome: Err(Fault {
                    exit: Exit::Usage,
                    kind: FailureKind::Misconfigured,
                    message: format!("it has no key: {reason}"),
                    hints: vec!["put the key there".to_owned()],
                }),
                spend: Spend::default(),
            },
        };
        exit = show(&asked, exit, &mut seconds)?;
    }
    measured::keep(&seconds);
    Ok(exit)
}

/// Prints one, and gives the worst of the exit codes.
fn show(asked: &Asked, exit: Exit, seconds: &mut BTreeMap<String, f64>) -> anyhow::Result<Exit> {
    stdout::write(&text(asked))?;
    match &asked.outcome {
        Ok(heard) => {
            seconds.insert(asked.name.clone(), heard.took.as_secs_f64());
            Ok(exit)
        }
        Err(fault) if exit == Exit::Usage || fault.exit == Exit::Usage => Ok(Exit::Usage),
        Err(fault) => Ok(fault.exit),
    }
}

fn text(asked: &Asked) -> String {
    let Asked { what, name, outcome, .. } = asked;
    let mut text = format!("{what:<8}  {name:<20}  ");
    match outcome {
        Ok(Heard { took, tokens, words }) => {
            let tokens = tokens.map_or_else(String::new, |(input, output)| format!("  {input}+{output} tokens"));
            let _ = writeln!(text, "ok  {:.0} ms{tokens}  {words}", took.as_secs_f64() * 1e3);
        }
        Err(Fault { message, hints, .. }) => {
            let _ = writeln!(text, "failed  {message}");
            for hint in hints {
                let _ = writeln!(text, "          hint: {hint}");
            }
        }
    }
    telemetry::redact(&text).into_owned()
}

/// The agents and the endpoints of these names; of no names, all that the settings define, or the mock.
fn chosen(names: &[String], settings: &Settings) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    if names.is_empty() {
        // An endpoint that only agents stand on is asked through them.
        let through: BTreeSet<&String> = settings.agents.values().filter_map(|agent| agent.endpoint.as_ref()).collect();
        let own = [&settings.roles.user_sim, &settings.roles.judge].into_iter().flatten();
        let own: BTreeSet<&String> = own.chain(settings.models.values()).collect();
        let endpoints = settings.endpoints.keys().filter(|name| own.contains(name) || !through.contains(name));
        let agents: Vec<String> = settings.agents.keys().cloned().collect();
        let endpoints: Vec<String> = endpoints.cloned().collect();
        let nothing = agents.is_empty() && endpoints.is_empty();
        return Ok((if nothing { vec![MOCK.to_owned()] } else { agents }, endpoints));
    }
    let (mut agents, mut endpoints) = (Vec::new(), Vec::new());
    for name in names {
        if settings.agents.contains_key(name) || plan::is_address(name) {
            agents.push(name.clone());
        } else if settings.endpoints.contains_key(name) {
            endpoints.push(name.clone());
        } else if name == MOCK {
            agents.push(name.clone());
        } else {
            let known: Vec<&str> =
                settings.agents.keys().chain(settings.endpoints.keys()).map(String::as_str).collect();
            return Err(usage(anyhow!(
                "there is no agent or endpoint {name:?}\nhint: {}",
                scenario::suggest::known_names(name, known)
            )));
        }
    }
    Ok((agents, endpoints))
}

/// Asks the agents of a plan that are servers, and the models that it needs, before anything is played. What that took is a
/// part of what the run takes.
///
/// # Errors
/// When one of them has failed alike so often that it is not only partly down.
pub(crate) async fn before(plan: &Plan, settings: &Settings, resources: &Resources) -> anyhow::Result<Spend> {
    let mut spend = Spend::default();
    for name in plan.agents.iter().filter(|name| is_server(settings, name)) {
        insist("agent", name, &mut spend, || ask_agent(name, resources, PATIENCE)).await?;
    }
    for (name, model) in judges::needed(plan, settings, &resources.models) {
        insist("endpoint", &name, &mut spend, || ask_model(&name, &*model, settings, PATIENCE)).await?;
    }
    Ok(spend)
}

/// Asks again while nothing but one failure comes back.
async fn insist<F: Future<Output = Asked>>(
    what: &str,
    name: &str,
    spend: &mut Spend,
    ask: impl Fn() -> F,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut first: Option<FailureKind> = None;
    for asked in 1_u32.. {
        let Asked { outcome, spend: took, .. } = ask().await;
        spend.add(&took);
        let fault = match outcome {
            Err(fault) if is_lasting(fault.kind) && first.is_none_or(|kind| kind == fault.kind) => fault,
            Ok(_) | Err(_) => return Ok(()),
        };
        first = Some(fault.kind);
        let settled = fault.kind == FailureKind::Misconfigured;
        let enough = asked >= MOST_ASKED || (asked >= LEAST_ASKED && began.elapsed() >= ENOUGH);
        if settled || enough {
            let times = if asked == 1 { "once".to_owned() } else { format!("{asked} times") };
            let mut message =
                format!("nothing was played: {what} {name:?} was asked {times} and failed: {}", fault.message);
            for hint in fault.hints.iter().map(String::as_str).chain(["--no-preflight plays all the same"]) {
                let _ = write!(message, "\nhint: {hint}");
            }
            let error = anyhow!("{}", telemetry::redact(&message));
            return Err(if fault.exit == Exit::Usage { usage(error) } else { error });
        }
    }
    Ok(())
}

/// Whether the same question would fail again: an address, a key or a certificate is wrong, and nothing is only busy.
fn is_lasting(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::AgentUnreachable
            | FailureKind::AgentFailed
            | FailureKind::AgentRefused
            | FailureKind::AgentMalformed
            | FailureKind::Misconfigured
    )
}

/// Whether an agent answers questions that nobody expects: people, written answers and the mock do not.
fn is_server(settings: &Settings, name: &str) -> bool {
    let Some(agent) = settings.agents.get(name) else { return name != MOCK };
    agent.interactive.is_none() && agent.replayed.is_none() && !judges::is_mock_agent(settings, name)
}

async fn ask_agent(name: &str, resources: &Resources, patience: Duration) -> Asked {
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
async fn ask_model(name: &str, model: &dyn Model, settings: &Settings, patience: Duration) -> Asked {
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
