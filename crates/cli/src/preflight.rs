//! The preflight: a long run asks its agents and models once before the first trial.

use std::{fmt::Write as _, time::Duration};

use anyhow::anyhow;
use record::{FailureKind, call::Spend};
use scenario::Plan;
use tokio::time::Instant;
use worker::Resources;

use crate::{
    diagnostics,
    exit::{Exit, usage},
    judges,
    probe::{Asked, ask_agent, ask_model},
    settings::{MOCK, Settings},
    variables,
};

/// Runs with at least this many trials start with a preflight. A shorter run shows just as soon what is wrong.
pub(crate) const LONG_TRIALS: u64 = 20;
/// An agent may fail occasionally. One that fails this often in a row, always in the same way, is down. Slow failures,
/// such as retried connections, need fewer.
const MOST_ASKED: u32 = 20;
const LEAST_ASKED: u32 = 3;
const ENOUGH: Duration = Duration::from_secs(20);
/// Waiting longer than this is said.
const NOTICED: Duration = Duration::from_secs(3);
/// The time limit of one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the agents of a plan that are servers, and the models that it needs, before the first trial. The calls count as
/// spending of the run.
///
/// # Errors
/// An agent or a model is down.
pub(crate) async fn before(plan: &Plan, settings: &Settings, resources: &Resources) -> anyhow::Result<Spend> {
    let mut spend = Spend::default();
    let vars = variables::of_first_case(plan);
    for name in plan.agents.iter().filter(|name| is_server(settings, name)) {
        insist("agent", name, &mut spend, || ask_agent(name, resources, vars.clone(), PATIENCE)).await?;
    }
    for (name, model) in judges::needed(plan, settings, &resources.models) {
        insist("endpoint", &name, &mut spend, || ask_model(&name, &*model, settings, PATIENCE)).await?;
    }
    Ok(spend)
}

/// Asks again as long as the same failure comes back.
async fn insist<F: Future<Output = Asked>>(
    what: &str,
    name: &str,
    spend: &mut Spend,
    ask: impl Fn() -> F,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut first: Option<FailureKind> = None;
    for asked in 1_u32.. {
        let Asked { outcome, spend: took, .. } = noticed(what, name, asked == 1, ask()).await;
        spend.add(&took);
        let fault = match outcome {
            Err(fault) if is_lasting(fault.kind) && first.is_none_or(|kind| kind == fault.kind) => fault,
            Ok(_) | Err(_) => return Ok(()),
        };
        if first.replace(fault.kind).is_none() && fault.kind != FailureKind::Misconfigured {
            let message = format!("{what} {name:?} failed and is asked again: {}", fault.message);
            diagnostics::note(&redact::redact(&message));
        }
        let settled = fault.kind == FailureKind::Misconfigured;
        let enough = asked >= MOST_ASKED || (asked >= LEAST_ASKED && began.elapsed() >= ENOUGH);
        if settled || enough {
            let times = if asked == 1 { "once".to_owned() } else { format!("{asked} times") };
            let mut message =
                format!("nothing was played: {what} {name:?} was asked {times} and failed: {}", fault.message);
            for hint in fault.hints.iter().map(String::as_str).chain(["--no-preflight plays the run anyway"]) {
                let _ = write!(message, "\nhint: {hint}");
            }
            let error = anyhow!("{}", redact::redact(&message));
            return Err(if fault.exit == Exit::Usage { usage(error) } else { error });
        }
    }
    Ok(())
}

/// Waits for an answer, and says so on the terminal if that takes long.
async fn noticed(what: &str, name: &str, is_first: bool, answer: impl Future<Output = Asked>) -> Asked {
    let mut answer = std::pin::pin!(answer);
    if is_first {
        match tokio::time::timeout(NOTICED, &mut answer).await {
            Ok(asked) => return asked,
            Err(_) => {
                let most = PATIENCE.as_secs();
                diagnostics::note(&format!("waiting for {what} {name:?} to answer, for at most {most} s"));
            }
        }
    }
    answer.await
}

/// Whether the same question would fail again: a wrong address, key or certificate, not a busy server.
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

/// Whether an agent can answer a question outside of a scenario: people, recorded answers and the mock cannot.
fn is_server(settings: &Settings, name: &str) -> bool {
    let Some(agent) = settings.agents.get(name) else { return name != MOCK };
    agent.interactive.is_none() && agent.replayed.is_none() && !judges::is_mock_agent(settings, name)
}
