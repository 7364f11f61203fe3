//! The steps of a scenario, one after the other: each is played, then judged.

use std::{sync::Arc, time::Duration};

use record::{Failure, FailureKind, Judgment, Scope, Turn, turn::Note, turn::Origin};
use scenario::{Action, History, OnFailure, Rule, Step};
use tokio::time::Instant;

use super::{
    battery, conversation,
    judge::{Judged, judge},
    say::say,
    stage::Stage,
};
use crate::{
    compiled::{CompiledScenario, StepChecks},
    environment::Environment as _,
    recorder::micros,
};

pub(super) async fn play(stage: &mut Stage) -> Result<(), Failure> {
    let script = Arc::clone(&stage.script);
    for (index, step) in script.scenario.steps.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        stage.progress.step = Some(number);
        let judged_before = stage.judgments.len();
        let first_turn = stage.transcript.len();
        act(stage, &script, index, number).await?;
        judge_step(stage, step, &script.steps[index], number, first_turn).await;
        let failed = stage.judgments[judged_before..].iter().any(Judgment::is_required_fail);
        if failed && script.scenario.on_failure == OnFailure::Stop {
            break;
        }
    }
    Ok(())
}

/// Only scripted messages are played in place. Everything else is boxed, because a waiting trial would reserve room for
/// all of it, and thousands wait at once.
async fn act(stage: &mut Stage, script: &CompiledScenario, index: usize, number: u32) -> Result<(), Failure> {
    let step = &script.scenario.steps[index];
    match &step.action {
        Action::Say { messages, expected, timeout_ms } => {
            let (timeout, cue) = (Duration::from_millis(*timeout_ms), script.cues[index].as_ref());
            match say(stage, number, messages, Origin::Scripted, timeout, cue).await {
                // An empty answer is valid if the step asks for one.
                Err(failure) if failure.kind == FailureKind::AgentEmpty && wants_nothing(step) => {}
                Err(failure) => return Err(failure),
                Ok(()) => {
                    if let (History::Expected, Some(expected)) = (script.scenario.history, expected) {
                        stage.line.replace_last_answer(expected);
                    }
                }
            }
            Ok(())
        }
        Action::Converse(written) => Box::pin(conversation::hold(stage, number, written, &script.steps[index])).await,
        Action::Examine(written) => Box::pin(battery::examine(stage, number, written)).await,
        Action::Execute { language, code } => Box::pin(execute(stage, number, language, code)).await,
    }
}

async fn judge_step(stage: &mut Stage, step: &Step, checks: &StepChecks, number: u32, first_turn: usize) {
    let transcript = &stage.transcript;
    let duration_ms = match step.action {
        // The time of the reply or the program, without our own work around it.
        Action::Say { .. } | Action::Execute { .. } => transcript.last().map(|turn| turn.duration_micros / 1_000),
        Action::Converse(_) | Action::Examine(_) => u64::try_from(transcript.agents_time(first_turn).as_millis()).ok(),
    };
    let conversation = matches!(step.action, Action::Converse(_));
    let (reply, said) = if conversation {
        let transcript = record::turn::transcript(&transcript.turns()[first_turn..]);
        (transcript.clone(), transcript)
    } else {
        (transcript.last_reply().to_owned(), transcript.last_said())
    };
    let what = Judged {
        scope: Scope::Step { step: number },
        reply: &reply,
        said: &said,
        first_turn,
        conversation,
        duration_ms,
        turn: None,
    };
    Box::pin(judge(stage, &checks.of_the_step, what)).await;
}

/// Runs a program and keeps its output as a turn. A program that fails is evidence, not a failure.
async fn execute(stage: &mut Stage, step: u32, language: &str, code: &str) -> Result<(), Failure> {
    let number = stage.transcript.next_number();
    let started_micros = stage.calling.log.micros_since_start(Instant::now());
    let ran = stage.environment.run(language, code).await.map_err(|failure| failure.in_turn(number))?;
    let mut turn = Turn::new(number, step, Origin::Program, code.to_owned(), started_micros);
    turn.agent = Some(ran.stdout);
    turn.exit_code = Some(ran.exit_code);
    turn.duration_micros = micros(ran.duration);
    if !ran.stderr.is_empty() {
        turn.notes.push(Note { kind: "stderr".to_owned(), text: ran.stderr });
    }
    stage.transcript.push(turn);
    Ok(())
}

fn wants_nothing(step: &Step) -> bool {
    step.checks.iter().any(|check| matches!(check.rule, Rule::Empty(_)) && !check.negated)
}
