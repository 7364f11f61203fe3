//! A recorded trial that is judged again: its judged checks ask their judges, and everything else stays as it was recorded.

use std::{ops::Range, sync::Arc};

use evaluate::{Evaluator, Subject};
use record::{
    Failure, FailureKind, Judgment, Scope, Trial, Turn, Verdict, user_fault::DespiteFault, verdict::conclude,
};
use scenario::{Action, Check, Rule, Step, check::USUAL_JUDGING, ids::seed_of};

use super::{
    end_unplayed, judge_pool::JudgePool, recorded_lines::RecordedLines, stage::Stage, ticket::Ticket,
    workspace::TrialWorkspace,
};
use crate::{
    admission::Admission,
    compiled::{CompiledScenario, StepChecks},
    outbox::Outbox,
    rerun::Rerun,
    resources::Resources,
};

/// Judges the recorded trial of this ticket again, and gives it with its turns to the outbox.
pub(super) async fn play(
    ticket: Ticket,
    script: Arc<CompiledScenario>,
    resources: Arc<Resources>,
    (outbox, admission): (Outbox, Admission),
    rerun: &Rerun,
) {
    let (recorded, turns) = match recorded(&ticket, rerun).await {
        Ok(found) => found,
        Err((verdict, failure)) => {
            end_unplayed(&ticket, verdict, failure, &resources, &outbox);
            return;
        }
    };
    let mut stage = Stage::new(ticket, script, resources, outbox, admission);
    is_of_round(&mut stage, rerun.round);
    for mut turn in turns {
        // They were paid in the recorded run.
        turn.calls.clear();
        stage.transcript.push(turn);
    }
    let stays = stage.transcript.len() == 0 || matches!(broke(&stage, &recorded), Broke::Whole);
    let judgments = if stays { recorded.judgments.clone() } else { judged(&mut stage, &recorded).await };
    stage.settle_trial();
    stage.transcript.emit();
    let trial = concluded(&stage, recorded, judgments);
    stage.resources.purses.trial_over(stage.ticket.attempt.run.as_str(), stage.ticket.trial.id.as_str());
    stage.transcript.end(trial);
}

/// The lines that the user of this trial says again.
pub(super) async fn lines(stage: &mut Stage, rerun: &Rerun) -> Result<(), Failure> {
    is_of_round(stage, rerun.round);
    let (recorded, turns) = recorded(&stage.ticket, rerun).await.map_err(|(_, failure)| failure)?;
    stage.recorded_lines = Some(Box::new(RecordedLines::of(&turns, recorded.stop)));
    Ok(())
}

/// The recorded trial of a ticket, or how a trial without a recording ends.
async fn recorded(ticket: &Ticket, rerun: &Rerun) -> Result<(Trial, Vec<Turn>), (Verdict, Failure)> {
    match rerun.recordings.trial(ticket.trial.number).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let why = "the recorded run did not play it";
            Err((Verdict::Cancelled, Failure::new(FailureKind::Cancelled, why)))
        }
        Err(why) => {
            let why = format!("its recording cannot be read: {why}");
            Err((Verdict::Error, Failure::new(FailureKind::Unreadable, why)))
        }
    }
}

/// Rounds after the first have seeds of their own.
fn is_of_round(stage: &mut Stage, round: u32) {
    stage.calling.context.attempt = round;
    if round > 1 {
        stage.calling.seed = seed_of(&[b"round", &stage.calling.seed.to_le_bytes(), &round.to_le_bytes()]);
    }
}

/// What aborted a recorded trial.
enum Broke {
    /// It was played to its end.
    No,
    /// This; the judgments before it stand.
    By(Failure),
    /// Something unknown: the trial stays as it is.
    Whole,
}

/// The recorded judgments alone give another end than the recorded one if something aborted the trial.
fn broke(stage: &Stage, recorded: &Trial) -> Broke {
    let (verdict, failure) = verdict_of(stage, &recorded.judgments, None);
    let despite = recorded.user.as_ref().and_then(|user| user.despite_fault);
    match (despite, &recorded.failure) {
        (Some(despite), _) if despite.verdict == verdict => Broke::No,
        (Some(_), _) => Broke::Whole,
        (None, _) if verdict == recorded.verdict && kind(failure.as_ref()) == kind(recorded.failure.as_ref()) => {
            Broke::No
        }
        (None, Some(failure)) => Broke::By(failure.clone()),
        (None, None) => Broke::Whole,
    }
}

fn kind(failure: Option<&Failure>) -> Option<FailureKind> {
    failure.map(|failure| failure.kind)
}

fn verdict_of(stage: &Stage, judgments: &[Judgment], broken: Option<Failure>) -> (Verdict, Option<Failure>) {
    let scenario = &stage.script.scenario;
    conclude(scenario.strategy, scenario.required_score, scenario.expect_failure, judgments, broken)
}

/// The record with these judgments. Its times are those of the conversation, its spending is that of the new judgments.
fn concluded(stage: &Stage, recorded: Trial, judgments: Vec<Judgment>) -> Trial {
    let broken = broke(stage, &recorded);
    let is_known = !matches!(broken, Broke::Whole);
    let (mut verdict, mut failure) = match broken {
        Broke::No => verdict_of(stage, &judgments, None),
        Broke::By(failure) => verdict_of(stage, &judgments, Some(failure)),
        Broke::Whole => (recorded.verdict, recorded.failure.clone()),
    };
    let mut user = recorded.user.clone();
    if let Some(conduct) = &mut user
        && is_known
        && conduct.despite_fault.is_some()
    {
        conduct.despite_fault = Some(DespiteFault { verdict, blame: failure.map(|failure| failure.blame) });
        (verdict, failure) = (recorded.verdict, recorded.failure.clone());
    }
    if stage.transcript.has_no_money() {
        (verdict, failure) = (Verdict::Error, Some(super::conclusion::out_of_money()));
    }
    Trial {
        epoch: stage.ticket.attempt.epoch,
        verdict,
        failure,
        spend: stage.transcript.spend(),
        call_times: stage.transcript.call_times(),
        exhausted: stage.transcript.is_exhausted(),
        judgments,
        user,
        past: record::trial::Past::default(),
        start: None,
        ..recorded
    }
}

/// The recorded judgments, each judged one made again.
async fn judged(stage: &mut Stage, recorded: &Trial) -> Vec<Judgment> {
    let script = Arc::clone(&stage.script);
    let mut judgments = recorded.judgments.clone();
    let mut first = 0;
    while first < judgments.len() {
        let scope = judgments[first].scope;
        let end = first + judgments[first..].iter().take_while(|judgment| judgment.scope == scope).count();
        if let Some(checks) = of_scope(&script, stage.transcript.turns(), scope, &judgments[first..end]) {
            for (judgment, again) in judgments[first..end].iter_mut().zip(checks) {
                if let Some(check) = again {
                    *judgment = again_of(stage, scope, check).await;
                }
            }
        }
        first = end;
    }
    judgments
}

/// The check of each recorded judgment of a scope, where it is judged again; `None`: they are not those of the scenario.
fn of_scope<'a>(
    script: &'a CompiledScenario,
    turns: &[Turn],
    scope: Scope,
    judgments: &[Judgment],
) -> Option<Vec<Option<&'a Evaluator>>> {
    let index = (scope.step() as usize).checked_sub(1)?;
    let (step, compiled) = (script.scenario.steps.get(index)?, script.steps.get(index)?);
    let of_step = turns_of(turns, scope.step());
    let found: Vec<(&Check, &Evaluator)> = match scope {
        Scope::Turn { turn, .. } => {
            let of_conversation = turn.checked_sub(turns.get(of_step.start)?.number)? + 1;
            each_turn(step, compiled)
                .filter(|(_, check)| check.at_turn().is_none_or(|at| at == of_conversation))
                .collect()
        }
        Scope::Conversation { .. } => {
            let last = u32::try_from(of_step.len()).unwrap_or(u32::MAX);
            // Those that the conversation did not reach have no judge.
            let unreached =
                each_turn(step, compiled).filter(|(_, check)| check.at_turn().is_some_and(|at| at > last)).count();
            let finals = at_the_end(step, compiled).filter(|(_, check)| check.at_turn().is_none());
            let again: Vec<Option<&Evaluator>> = pair(judgments.get(unreached..)?, &finals.collect::<Vec<_>>())?;
            return Some(std::iter::repeat_n(None, unreached).chain(again).collect());
        }
        Scope::Step { .. } => {
            let of_step = step.checks.iter().zip(&compiled.of_the_step);
            of_step.filter(|(_, check)| check.at_turn().is_none()).collect()
        }
    };
    pair(judgments, &found)
}

fn each_turn<'a>(step: &'a Step, compiled: &'a StepChecks) -> impl Iterator<Item = (&'a Check, &'a Evaluator)> {
    conversation(step).map(|one| one.turn_checks.as_slice()).unwrap_or_default().iter().zip(&compiled.each_turn)
}

fn at_the_end<'a>(step: &'a Step, compiled: &'a StepChecks) -> impl Iterator<Item = (&'a Check, &'a Evaluator)> {
    conversation(step).map(|one| one.final_checks.as_slice()).unwrap_or_default().iter().zip(&compiled.at_the_end)
}

fn conversation(step: &Step) -> Option<&scenario::Conversation> {
    match &step.action {
        Action::Converse(conversation) => Some(conversation),
        Action::Say { .. } | Action::Examine(_) | Action::Execute { .. } => None,
    }
}

fn pair<'a>(judgments: &[Judgment], checks: &[(&Check, &'a Evaluator)]) -> Option<Vec<Option<&'a Evaluator>>> {
    let fits = |(judgment, (check, _)): (&Judgment, &(&Check, &Evaluator))| judgment.check == check.rule.kind();
    if judgments.len() != checks.len() || !judgments.iter().zip(checks).all(fits) {
        return None;
    }
    let again = |(check, evaluator): &(&Check, &'a Evaluator)| {
        (evaluator.asks_a_model() && !reads_environment(check)).then_some(*evaluator)
    };
    Some(checks.iter().map(again).collect())
}

/// Whether a check reads what was there only while the trial was played: files, commands, services, tables, mocks.
fn reads_environment(check: &Check) -> bool {
    match &check.rule {
        Rule::CommandExitCodeIs(_)
        | Rule::FileContains(_)
        | Rule::FileExists(_)
        | Rule::HttpState(_)
        | Rule::SqlState(_)
        | Rule::MockState(_)
        | Rule::Custom(_) => true,
        Rule::AnyOf(any) => any.checks.iter().any(reads_environment),
        _ => false,
    }
}

/// The places of the turns of a step.
fn turns_of(turns: &[Turn], step: u32) -> Range<usize> {
    let first = turns.iter().position(|turn| turn.step == step).unwrap_or(turns.len());
    let end = turns.iter().rposition(|turn| turn.step == step).map_or(first, |last| last + 1);
    first..end
}

/// Asks the check about what its scope covered.
async fn again_of(stage: &mut Stage, scope: Scope, check: &Evaluator) -> Judgment {
    let of_step = turns_of(stage.transcript.turns(), scope.step());
    let turns = match scope {
        Scope::Turn { turn, .. } => {
            let at = stage.transcript.turns().iter().position(|one| one.number == turn).unwrap_or(of_step.start);
            &stage.transcript.turns()[at..(at + 1).min(stage.transcript.len())]
        }
        Scope::Conversation { .. } | Scope::Step { .. } => &stage.transcript.turns()[of_step],
    };
    let steps = &stage.script.scenario.steps;
    let step = (scope.step() as usize).checked_sub(1).and_then(|index| steps.get(index));
    let is_conversation = step.and_then(conversation).is_some();
    let (reply, said) = match scope {
        Scope::Conversation { .. } | Scope::Step { .. } if is_conversation => {
            let whole = record::turn::transcript(turns);
            (whole.clone(), whole)
        }
        _ => {
            let last = turns.last();
            let reply = last.and_then(|turn| turn.agent.clone()).unwrap_or_default();
            (reply, last.and_then(Turn::said).unwrap_or_default().into_owned())
        }
    };
    let duration: u64 = match is_conversation {
        true => turns.iter().map(|turn| turn.duration_micros).sum(),
        false => turns.last().map_or(0, |turn| turn.duration_micros),
    };
    let workspace = TrialWorkspace::of(stage, 0);
    let subject = Subject {
        scope,
        reply: &reply,
        said: &said,
        turns,
        steps,
        conversation: is_conversation,
        duration_ms: Some(duration / 1_000),
        judging: &USUAL_JUDGING,
        workspace: &workspace,
    };
    let judges = JudgePool::new(&stage.resources.models, &stage.calling, &stage.questions, stage.transcript.number());
    check.judge(&subject, &judges.gated(stage.ticket.scripts.plan().gates.judges.as_ref())).await
}
