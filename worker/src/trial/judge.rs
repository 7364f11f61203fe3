//! Applies checks to the transcript, and keeps their judgments.

use evaluate::{Evaluator, Subject};
use record::Scope;
use scenario::check::USUAL_JUDGING;

use super::{
    judge_pool::JudgePool,
    stage::Stage,
    workspace::{END_STATE, TrialWorkspace},
};

/// What a list of checks is applied to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) scope: Scope,
    pub(super) reply: &'a str,
    /// All that the agent said.
    pub(super) said: &'a str,
    /// Index of the first turn that the scope covers.
    pub(super) first_turn: usize,
    pub(super) conversation: bool,
    pub(super) duration_ms: Option<u64>,
    /// The turn that is judged, from 1; `None`: not a single turn.
    pub(super) turn: Option<u32>,
}

/// Applies the checks one after the other.
pub(super) async fn judge(stage: &mut Stage, checks: &[Evaluator], what: Judged<'_>) {
    if checks.is_empty() {
        return;
    }
    let mut judgments = std::mem::take(&mut stage.judgments);
    let workspace = TrialWorkspace::of(stage, judgments.len());
    let subject = Subject {
        scope: what.scope,
        reply: what.reply,
        said: what.said,
        turns: &stage.transcript.turns()[what.first_turn..],
        steps: &stage.script.scenario.steps,
        conversation: what.conversation,
        duration_ms: what.duration_ms,
        judging: &USUAL_JUDGING,
        workspace: &workspace,
    };
    let judges = JudgePool::new(&stage.resources.models, &stage.calling, &stage.questions, stage.transcript.number());
    let judges = judges.gated(stage.ticket.scripts.plan().gates.judges.as_ref());
    let applies = |check: &&Evaluator| check.at_turn().is_none() || check.at_turn() == what.turn;
    let first = judgments.len();
    for check in checks.iter().filter(applies).filter(|check| !check.sees_end_state()) {
        let judgment = check.judge(&subject, &judges).await;
        judgments.push(judgment);
    }
    // Judges that see the end state come after the checks that read it. The record has the order of the scenario.
    for (place, check) in checks.iter().filter(applies).enumerate().filter(|(_, check)| check.sees_end_state()) {
        let judgment = check.judge(&subject, &judges).await;
        judgments.insert(first + place, judgment);
    }
    let states = workspace.into_notes();
    stage.judgments = judgments;
    states.into_iter().for_each(|state| stage.transcript.note(END_STATE, state));
    match what.scope {
        Scope::Turn { .. } => stage.settle(),
        Scope::Step { .. } | Scope::Conversation { .. } => stage.settle_trial(),
    }
}
