//! One trial, from its first message to its verdict.
//!
//! [`play`] goes down through [`steps`] to a [`conversation`] or a single message; [`say`] is one exchange with the agent,
//! [`judge`] applies checks to it. All of them change one [`stage`]: the transcript, the line to the agent, the judgments.
//! [`conclusion`] turns it into a record.

mod again;
mod agent_calls;
mod agent_line;
mod battery;
mod calling;
mod conclusion;
mod conversation;
mod database_state;
mod judge;
mod judge_pool;
mod next_line;
mod opening;
mod recorded_lines;
mod say;
mod size;
mod stage;
mod steps;
mod ticket;
mod toolbox;
mod transcript;
mod user_check;
mod user_conduct;
mod user_states;
mod user_tools;
mod workspace;

use std::{pin::Pin, sync::Arc, time::Duration};

use record::{Failure, FailureKind, Trial, Verdict, trial::Start};
use scenario::{Action, Check, Rule, check};
use telemetry::trace::Played;
use tokio::time::Instant;

use self::{conclusion::conclusion, database_state::Tables, stage::Stage};
use crate::{
    admission::Admission,
    compiled::CompiledScenario,
    environment::{Environment as _, Execution},
    outbox::Outbox,
    rerun::Again,
    resources::Resources,
};

pub(crate) use self::{
    agent_calls::{Broken, answered_calls},
    ticket::{Ticket, Timing},
};

/// Plays a trial and gives its turns and its end to the outbox.
pub(crate) async fn play(ticket: Ticket, resources: Arc<Resources>, outbox: Outbox, admission: Admission) {
    let playing = match begin(ticket, resources, outbox, admission) {
        Some(Begun::New(stage, start)) => play_on(stage, start),
        Some(Begun::Again(playing)) => return playing.await,
        None => return,
    };
    playing.await;
}

enum Begun {
    /// Boxed, as is the other: the future of each trial would keep room for them more than once.
    New(Box<Stage>, Option<Start>),
    Again(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// `None`: it is not played, and its end is in the outbox.
fn begin(ticket: Ticket, resources: Arc<Resources>, outbox: Outbox, admission: Admission) -> Option<Begun> {
    let start = ticket.start(Instant::now());
    let script = match ticket.scripts.of_case(ticket.trial.case) {
        Ok(script) => script,
        Err(failure) => {
            end_unplayed(&ticket, Verdict::Error, failure, &resources, &outbox);
            return None;
        }
    };
    if let Some(rerun) = resources.rerun.clone().filter(|rerun| rerun.what == Again::Judge) {
        let playing = async move { again::play(ticket, script, resources, (outbox, admission), &rerun).await };
        return Some(Begun::Again(Box::pin(playing)));
    }
    if let Some((verdict, failure)) = refusal(&script, &resources) {
        end_unplayed(&ticket, verdict, failure, &resources, &outbox);
        return None;
    }
    let mut stage = Box::new(Stage::new(ticket, script, resources, outbox, admission));
    stage.progress.late = start.map_or(Duration::ZERO, |start| Duration::from_micros(start.late_micros));
    Some(Begun::New(stage, start))
}

#[expect(clippy::manual_async_fn, reason = "a block holds what it is given once, an `async fn` twice")]
fn play_on(mut stage: Box<Stage>, start: Option<Start>) -> impl Future<Output = ()> {
    async move {
        let broken = match set_up(&mut stage).await {
            Ok(()) => steps::play(&mut stage).await.err(),
            Err(failure) => Some(failure),
        };
        stage.settle_trial();
        stage.transcript.emit();
        Box::pin(stage.environment.teardown()).await;
        let trial = Trial { start, ..conclusion(&stage, broken) };
        conclusion::trace(&stage, &trial);
        stage.resources.purses.trial_over(stage.ticket.attempt.run.as_str(), stage.ticket.trial.id.as_str());
        stage.transcript.end(trial);
    }
}

/// Ends a trial that was not played, or whose state was lost.
pub(crate) fn end_unplayed(
    ticket: &Ticket,
    verdict: Verdict,
    failure: Failure,
    resources: &Resources,
    outbox: &Outbox,
) {
    let run = &ticket.attempt.run;
    let trial = ticket.unplayed(verdict, failure);
    let plan = ticket.scripts.plan();
    if let Some(case) = plan.case(ticket.trial.case) {
        let began_micros = u64::try_from((resources.now_millis)()).unwrap_or(0).saturating_mul(1_000);
        let played = Played {
            run,
            suite: &plan.name,
            case: &case,
            began_micros,
            trial: &trial,
            turns: &[],
            calls: &[],
            conversations: &[],
        };
        resources.traces.unplayed(&played);
        resources.metrics.place(&plan.name, &case.scenario, case.persona.as_deref()).ended(&trial);
    }
    outbox.ended(run, trial);
}

/// Why this worker does not play the scenario. Checked before the agent is asked anything: its answers could not be
/// judged, and would cost money.
fn refusal(script: &CompiledScenario, resources: &Resources) -> Option<(Verdict, Failure)> {
    if matches!(resources.execution, Execution::Off) && wants_execution(script) {
        let message = "the scenario runs programs, which the worker's operator has not allowed (--allow-exec)";
        return Some((Verdict::Skipped, Failure::new(FailureKind::ExecutionNotAllowed, message)));
    }
    if let Some(refused) = script.scenario.checks().find_map(|check| check_refusal(check, resources)) {
        return Some(refused);
    }
    let failure = resources.models.missing(&script.asks)?;
    let verdict = if failure.kind == FailureKind::JudgeMissing { Verdict::Skipped } else { Verdict::Error };
    Some((verdict, failure))
}

/// Why a check that needs something from the settings, and without which there is no verdict, cannot be applied here.
fn check_refusal(check: &Check, resources: &Resources) -> Option<(Verdict, Failure)> {
    let missing = |what: &str, name: &str| {
        let message = format!("this worker's settings have no {what} {name:?}");
        Some((Verdict::Error, Failure::new(FailureKind::Misconfigured, message)))
    };
    let name = match &check.rule {
        _ if !check.required => return None,
        Rule::HttpState(rule) if !resources.state_hosts.contains_key(&rule.host) => {
            return missing("state host", &rule.host);
        }
        Rule::SqlState(rule) if !resources.databases.contains_key(&rule.database) => {
            return missing("database", &rule.database);
        }
        Rule::Custom(check::Custom { check: name, .. }) => name,
        _ => return None,
    };
    match resources.checks.get(name) {
        None => missing("check", name),
        Some(found) if !found.is_allowed() => {
            let message =
                format!("check {name:?} is a program, which the worker's operator has not allowed (--allow-exec)");
            Some((Verdict::Skipped, Failure::new(FailureKind::ExecutionNotAllowed, message)))
        }
        Some(_) => None,
    }
}

async fn set_up(stage: &mut Stage) -> Result<(), Failure> {
    if let Some(rerun) = stage.resources.rerun.clone() {
        Box::pin(again::lines(stage, &rerun)).await?;
    }
    let databases = &stage.resources.databases;
    Box::pin(stage.environment.set_up(databases)).await?;
    stage.tables = Box::pin(Tables::read(&stage.script.scenario, &stage.resources)).await?;
    Ok(())
}

fn wants_execution(script: &CompiledScenario) -> bool {
    script.scenario.steps.iter().any(|step| matches!(step.action, Action::Execute { .. }))
        || script.scenario.checks().any(|check| matches!(check.rule, Rule::CommandExitCodeIs(_)))
}

#[cfg(test)]
mod tests;
