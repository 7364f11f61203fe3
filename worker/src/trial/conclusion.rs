//! The record of a played trial: its verdict, the blame for a failure, and its figures.

use record::{
    Failure, FailureKind, Trial,
    user_fault::{self, UserConduct},
    verdict::conclude,
};
use scenario::{Action, Step};
use telemetry::trace::Played;

use super::{stage::Stage, user_conduct};

/// `broken`: why the trial was aborted.
pub(super) fn conclusion(stage: &Stage, broken: Option<Failure>) -> Trial {
    let scenario = &stage.script.scenario;
    let (progress, transcript) = (&stage.progress, &stage.transcript);
    // Whatever was found before: a conversation without its money is played again, and nobody is to blame for it.
    let broken = if transcript.has_no_money() { Some(out_of_money()) } else { broken };
    let broken = broken.map(|failure| Failure { step: failure.step.or(progress.step), ..failure });
    let (verdict, failure) =
        conclude(scenario.strategy, scenario.required_score, scenario.expect_failure, &stage.judgments, broken);
    let (verdict, failure, despite_fault) =
        user_fault::fold(verdict, failure, user_conduct::critical(&progress.user_lines, transcript.turns()));
    let failure = failure.map(|failure| placed(stage, failure));
    let user = user_conduct::conduct(&progress.user_lines, stage.script.case.persona.as_deref());
    let keep_transcript = scenario.steps.iter().all(|step| match &step.action {
        Action::Converse(conversation) => conversation.debug.export_full_transcript,
        Action::Say { .. } | Action::Examine(_) | Action::Execute { .. } => true,
    });
    Trial {
        strategy: scenario.strategy,
        termination_reason: progress.stop.as_ref().map(|stop| stop.signal.clone()),
        stop: progress.stop.clone(),
        turns: transcript.number(),
        conversations: progress.conversations + u32::from(has_scripted_message(stage)),
        duration_ms: u64::try_from(progress.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        began_at_ms: u64::try_from(progress.began_millis).unwrap_or(0),
        keep_transcript,
        exhausted: transcript.is_exhausted(),
        verdict,
        failure,
        latencies: transcript.latencies().to_vec(),
        unanswered: transcript.unanswered(),
        spend: transcript.spend(),
        call_times: transcript.call_times(),
        judgments: stage.judgments.clone(),
        user: user.map(|user| Box::new(UserConduct { despite_fault, ..user })),
        examined: stage.examined.clone(),
        ..stage.ticket.unplayed(verdict, Failure::new(FailureKind::Panicked, ""))
    }
}

pub(super) fn out_of_money() -> Failure {
    Failure::new(FailureKind::BudgetUsedUp, "the budget of the run (`max_cost`) is used up")
}

/// Exports the trial as a trace, if the worker exports traces.
pub(super) fn trace(stage: &Stage, trial: &Trial) {
    stage.resources.traces.trial(
        stage.calling.head,
        &Played {
            run: &stage.ticket.attempt.run,
            suite: &stage.ticket.scripts.plan().name,
            case: &stage.script.case,
            began_micros: u64::try_from(stage.progress.began_millis).unwrap_or(0).saturating_mul(1_000),
            trial,
            turns: stage.transcript.turns(),
            calls: stage.transcript.turnless(),
            conversations: stage.line.opened(),
        },
    );
}

/// A scripted step is one turn, so a failure of the step is a failure of that turn.
fn placed(stage: &Stage, failure: Failure) -> Failure {
    let (Some(step), None) = (failure.step, failure.turn) else { return failure };
    let is_scripted = |step: &Step| matches!(step.action, Action::Say { .. } | Action::Execute { .. });
    if !step_of(stage, step).is_some_and(is_scripted) {
        return failure;
    }
    let turn = stage.transcript.turns().iter().rev().find(|turn| turn.step == step).map(|turn| turn.number);
    Failure { turn, ..failure }
}

/// Whether the agent was sent a scripted message: all of them together count as one conversation.
fn has_scripted_message(stage: &Stage) -> bool {
    let is_message = |step: &Step| matches!(step.action, Action::Say { .. });
    stage.transcript.turns().iter().any(|turn| step_of(stage, turn.step).is_some_and(is_message))
}

/// `number` counts from 1.
fn step_of(stage: &Stage, number: u32) -> Option<&Step> {
    stage.script.scenario.steps.get((number as usize).checked_sub(1)?)
}
