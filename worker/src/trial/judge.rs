//! Applies checks to what was said, and keeps what they find.

use evaluate::{Evaluator, Subject};
use record::Scope;
use scenario::check::USUAL_JUDGING;

use super::{judge_pool::JudgePool, stage::Stage, workspace::TrialWorkspace};

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
    /// The turn of the conversation that is judged, from 1; `None`: no single turn of one.
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
        conversation: what.conversation,
        duration_ms: what.duration_ms,
        judging: &USUAL_JUDGING,
        workspace: &workspace,
    };
    let judges = JudgePool::new(&stage.resources.models, &stage.calling, &stage.questions, stage.transcript.number());
    let judges = judges.gated(stage.ticket.scripts.plan().gates.judges.as_ref());
    for check in checks.iter().filter(|check| check.at_turn().is_none() || check.at_turn() == what.turn) {
        let judgment = check.judge(&subject, &judges).await;
        judgments.push(judgment);
    }
    let states = workspace.into_notes();
    stage.judgments = judgments;
    states.into_iter().for_each(|state| stage.transcript.note("end_state", state));
    match what.scope {
        Scope::Turn { .. } => stage.settle(),
        Scope::Step { .. } | Scope::Conversation { .. } => stage.settle_trial(),
    }
}
