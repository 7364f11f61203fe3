//! Moves the simulated user between states after an answer of the agent, and asks a judge if a state says so.

use std::sync::Arc;

use evaluate::question::{Material, Open, Question, yes_or_no};
use record::Scope;
use user::User;

use super::{next_line::Place, stage::Stage};

/// Takes the exit that the agent's answer leads to. A question without an answer counts as no, and is counted.
pub(super) async fn follow(stage: &mut Stage, user: &mut User<'_>, place: Place) {
    let script = Arc::clone(&stage.script);
    let Some(crossroads) = user.crossroads(&place.situation(&script, stage.transcript.turns(), 0)) else { return };
    let mut next = crossroads.sure;
    if next.is_none() && !crossroads.asks.is_empty() {
        let material = Material::of_turns(&stage.transcript.turns()[place.first_seen..], &script.scenario.steps);
        let step = stage.progress.step.unwrap_or(1);
        let scope = Scope::Turn { step, turn: stage.transcript.number() };
        let mut failed = 0;
        for (text, to) in &crossroads.asks {
            match yes_or_no(&Question::new(text, &material, scope), &stage.judges()).await {
                Ok(answer) => match answer.said {
                    Ok(true) => {
                        next = Some(*to);
                        break;
                    }
                    Ok(false) | Err(Open::NotApplicable) => {}
                    Err(Open::CannotTell) => failed += 1,
                },
                Err(_) => failed += 1,
            }
        }
        stage.transcript.failed_asks(failed);
        stage.settle();
    }
    if let Some(next) = next.or(crossroads.otherwise) {
        user.enter(next, &place.situation(&script, stage.transcript.turns(), 0));
    }
}
