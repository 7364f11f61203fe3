//! One trial, from its first word to its verdict.

use std::{sync::Arc, time::Duration};

use record::{Failure, FailureKind, Judgment, Scope, Trial, Turn, Verdict, turn::Speaker, verdict::conclude};
use scenario::{Action, History, OnFailure, Rule, Step};
use telemetry::trace::Played;

use crate::{
    battery, conversation,
    environment::{Environment as _, Execution},
    gate::Gate,
    outbox::{Attempt, Outbox},
    resources::Resources,
    script::{Script, Scripts},
    stage::{Judged, Stage},
};

/// A trial that this worker holds.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) attempt: Attempt,
    pub(crate) trial: scenario::Trial,
    pub(crate) scripts: Arc<Scripts>,
}

/// Plays a trial and gives its turns and its end to the outbox.
pub(crate) async fn play(ticket: Ticket, resources: Arc<Resources>, outbox: Outbox, gate: Gate) {
    let script = match ticket.scripts.of_case(ticket.trial.case) {
        Ok(script) => script,
        Err(failure) => {
            end_unplayed(&ticket, Verdict::Error, failure, &resources, &outbox);
            return;
        }
    };
    if matches!(resources.execution, Execution::Off) && wants_execution(&script) {
        let message = "the scenario runs programs, which the worker's operator has not allowed (--allow-exec)";
        let failure = Failure::new(FailureKind::ExecutionNotAllowed, message);
        end_unplayed(&ticket, Verdict::Skipped, failure, &resources, &outbox);
        return;
    }
    if let Some(failure) = resources.models.missing(&script.asks) {
        // Before the agent is asked anything: what it said could not be judged, and would cost money.
        let verdict = if failure.kind == FailureKind::JudgeMissing { Verdict::Skipped } else { Verdict::Error };
        end_unplayed(&ticket, verdict, failure, &resources, &outbox);
        return;
    }
    let run = ticket.attempt.run.clone();
    let mut stage = Stage::new(ticket, script, resources, outbox.clone(), gate);
    let broken = match set_up(&mut stage).await {
        Ok(()) => steps(&mut stage).await.err(),
        Err(failure) => Some(failure),
    };
    stage.settle_trial();
    stage.emit_all();
    Box::pin(stage.environment.teardown()).await;
    let trial = conclusion(&stage, broken);
    stage.tell(&trial);
    stage.place.ended(&trial);
    outbox.ended(&run, trial);
}

/// Ends a trial of which nothing was played, or nothing is left.
pub(crate) fn end_unplayed(
    ticket: &Ticket,
    verdict: Verdict,
    failure: Failure,
    resources: &Resources,
    outbox: &Outbox,
) {
    let run = &ticket.attempt.run;
    let trial = unplayed(ticket, verdict, failure);
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

/// A trial of which nothing was played.
fn unplayed(ticket: &Ticket, verdict: Verdict, failure: Failure) -> Trial {
    Trial::unplayed(&ticket.trial, ticket.attempt.epoch, verdict, failure)
}

async fn set_up(stage: &mut Stage) -> Result<(), Failure> {
    let databases = &stage.resources.databases;
    Box::pin(stage.environment.set_up(databases)).await
}

/// What not every step does is boxed: a waiting trial would have room for all of it, and thousands wait at once.
async fn steps(stage: &mut Stage) -> Result<(), Failure> {
    let script = Arc::clone(&stage.script);
    for (index, (step, checks)) in script.scenario.steps.iter().zip(&script.steps).enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        stage.step = Some(number);
        let judged_before = stage.judgments.len();
        let first_turn = stage.turns.len();
        let mut conversation = false;
        let mut transcript = None;
        match &step.action {
            Action::Say { messages, expected, timeout_ms } => {
                let timeout = Duration::from_millis(*timeout_ms);
                let cue = script.cues[index].as_ref();
                let answered = match stage.say(number, messages, Speaker::Scripted, timeout, cue).await {
                    // To say nothing is an answer where that is what is asked for.
                    Err(failure) if failure.kind == FailureKind::AgentEmpty && wants_nothing(step) => false,
                    Err(failure) => return Err(failure),
                    Ok(()) => true,
                };
                if let (History::Expected, Some(expected), true) = (script.scenario.history, expected, answered) {
                    stage.replace_last_answer(expected);
                }
            }
            Action::Converse(written) => {
                conversation = true;
                Box::pin(conversation::hold(stage, number, written, checks)).await?;
                transcript = Some(record::turn::transcript(&stage.turns[first_turn..]));
            }
            Action::Examine(written) => Box::pin(battery::examine(stage, number, written)).await?,
            Action::Execute { language, code } => Box::pin(execute(stage, number, language, code)).await?,
        }
        let duration = match step.action {
            // What was timed is the reply or the program, not our own work around it.
            Action::Say { .. } | Action::Execute { .. } => stage.turns.last().map(|turn| turn.duration_micros / 1_000),
            Action::Converse(_) | Action::Examine(_) => u64::try_from(stage.agents_time(first_turn).as_millis()).ok(),
        };
        let (reply, said) = match transcript {
            Some(transcript) => (transcript.clone(), transcript),
            None => (stage.last_reply().to_owned(), stage.last_said()),
        };
        let what = Judged {
            scope: Scope::Step { step: number },
            reply: &reply,
            said: &said,
            first_turn,
            conversation,
            duration_ms: duration,
        };
        Box::pin(stage.judge(&checks.of_the_step, what)).await;
        let failed = stage.judgments[judged_before..].iter().any(Judgment::is_required_fail);
        if failed && script.scenario.on_failure == OnFailure::Stop {
            break;
        }
    }
    Ok(())
}

/// Runs a program and keeps what it printed as a turn. A program that fails is evidence, not a failure.
async fn execute(stage: &mut Stage, step: u32, language: &str, code: &str) -> Result<(), Failure> {
    let number = stage.next_number();
    let started_micros = stage.log().micros_since_start(tokio::time::Instant::now());
    let ran = stage.environment.run(language, code).await.map_err(|failure| failure.in_turn(number))?;
    let notes = if ran.stderr.is_empty() {
        Vec::new()
    } else {
        vec![record::turn::Note { kind: "stderr".to_owned(), text: ran.stderr }]
    };
    stage.push(Turn {
        number,
        step,
        speaker: Speaker::Program,
        user: code.to_owned(),
        agent: Some(ran.stdout),
        messages: Vec::new(),
        exit_code: Some(ran.exit_code),
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros,
        duration_micros: crate::recorder::micros(ran.duration),
        calls: Vec::new(),
        notes,
    });
    Ok(())
}

fn conclusion(stage: &Stage, broken: Option<Failure>) -> Trial {
    let scenario = &stage.script.scenario;
    let broken = broken.map(|failure| Failure { step: failure.step.or(stage.step), ..failure });
    let (verdict, failure) =
        conclude(scenario.strategy, scenario.required_score, scenario.expect_failure, &stage.judgments, broken);
    let failure = failure.map(|failure| placed(stage, failure));
    let keep_transcript = scenario.steps.iter().all(|step| match &step.action {
        Action::Converse(conversation) => conversation.debug.export_full_transcript,
        Action::Say { .. } | Action::Examine(_) | Action::Execute { .. } => true,
    });
    Trial {
        strategy: scenario.strategy,
        termination_reason: stage.termination_reason.clone(),
        turns: u32::try_from(stage.turns.len()).unwrap_or(u32::MAX),
        conversations: stage.conversations + u32::from(said_as_written(stage)),
        duration_ms: u64::try_from(stage.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        keep_transcript,
        exhausted: stage.is_exhausted(),
        verdict,
        failure,
        latencies: stage.latencies.clone(),
        unanswered: stage.unanswered,
        spend: stage.spend(),
        pace: stage.pace(),
        judgments: stage.judgments.clone(),
        ..unplayed(&stage.ticket, verdict, Failure::new(FailureKind::Panicked, ""))
    }
}

/// A scripted step is one turn: what failed of the step failed in that turn.
fn placed(stage: &Stage, failure: Failure) -> Failure {
    let (Some(step), None) = (failure.step, failure.turn) else { return failure };
    let index = usize::try_from(step).unwrap_or(usize::MAX).saturating_sub(1);
    let scripted = stage
        .script
        .scenario
        .steps
        .get(index)
        .is_some_and(|step| matches!(step.action, Action::Say { .. } | Action::Execute { .. }));
    let turn = stage.turns.iter().rev().find(|turn| scripted && turn.step == step).map(|turn| turn.number);
    Failure { turn, ..failure }
}

/// Whether the agent was sent a scripted message: all of them together are one conversation.
fn said_as_written(stage: &Stage) -> bool {
    let steps = &stage.script.scenario.steps;
    let is_message = |step: Option<&Step>| step.is_some_and(|step| matches!(step.action, Action::Say { .. }));
    stage.turns.iter().any(|turn| is_message(steps.get((turn.step as usize).wrapping_sub(1))))
}

fn wants_nothing(step: &Step) -> bool {
    step.checks.iter().any(|check| matches!(check.rule, Rule::Empty(_)) && !check.negated)
}

fn wants_execution(script: &Script) -> bool {
    script.scenario.steps.iter().any(|step| matches!(step.action, Action::Execute { .. }))
        || script.scenario.checks().any(|check| matches!(check.rule, Rule::CommandExitCodeIs(_)))
}

#[cfg(test)]
mod tests;
