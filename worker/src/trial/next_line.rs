//! What the simulated user does next: it sends a line or ends the conversation.

use std::sync::Arc;

use record::{Failure, FailureKind, Role, Simulated, Stop, Turn, stop::Signal, turn::Origin};
use scenario::user::SelfCheck;
use user::{Cue, End, Situation, User};

use super::{stage::Stage, user_conduct::UserLine, user_states::follow};
use crate::{
    compiled::CompiledScenario,
    simulator::{self, Drafted},
};

/// What the simulated user does next.
#[derive(Debug)]
pub(super) enum Next {
    Say(Line),
    Stop(End),
}

/// What is sent to the agent.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) words: String,
    pub(super) speaker: Origin,
    /// How the conversation ends after the agent's answer, if it does.
    pub(super) farewell: Option<End>,
}

/// The position in the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Index of the first turn that the user has seen.
    pub(super) first_seen: usize,
    /// Whether the user has seen the messages before the first turn.
    pub(super) opening: bool,
    /// Exchanges of this conversation.
    pub(super) exchanges: u32,
    /// Lines that the user can still write.
    pub(super) lines_left: u32,
    /// Keep prompt and answer.
    pub(super) debug: bool,
}

impl Place {
    /// What the user knows of these turns. `seed`: of its next line.
    pub(super) fn situation<'a>(self, script: &'a CompiledScenario, turns: &'a [Turn], seed: u64) -> Situation<'a> {
        Situation {
            opening: if self.opening { &script.scenario.opening } else { &[] },
            turns: &turns[self.first_seen..],
            steps: &script.scenario.steps,
            calls: &[],
            exchanges: self.exchanges,
            line: self.exchanges + 1,
            lines_left: self.lines_left,
            seed,
        }
    }
}

/// Asks the simulated user for its next line.
///
/// This is the only place between the user's model and the agent, so no unchecked draft reaches the agent.
pub(super) async fn next_line(stage: &mut Stage, user: &mut User<'_>, place: Place) -> Result<Next, Failure> {
    if user.state().is_some() {
        // Boxed: few scenarios have states, and the future of every trial would have room for them.
        Box::pin(follow(stage, user, place)).await;
    }
    let number = stage.transcript.next_number();
    let simulator = user.simulator();
    let (context, seed) = stage.calling.of_user(number);
    let script = Arc::clone(&stage.script);
    let situation = place.situation(&script, stage.transcript.turns(), seed);
    let farewell = match user.cue(&situation) {
        Cue::Draft(farewell) => farewell,
        Cue::Recite(words, farewell) => {
            let state = user.state().map(str::to_owned);
            stage.transcript.simulated(Simulated { state, ..Simulated::default() });
            return Ok(Next::Say(Line { words: words.to_owned(), speaker: Origin::Scripted, farewell }));
        }
        Cue::Stop(end) => {
            stage.settle_trial();
            return Ok(Next::Stop(end));
        }
    };
    let model = stage.calling.recorded(stage.resources.models.user_sim(&simulator.model_type), Role::UserSim);
    let tools = stage.line.toolbox.made().filter(|_| !simulator.extras.tools.is_empty());
    let mut faults = Vec::new();
    let drafted = simulator::draft(user, &situation, &model, context, place.debug, tools.as_deref(), &mut faults).await;
    let spoken = drafted.and_then(|mut drafted| {
        let end = user.speak(&mut drafted.draft, &situation);
        if end.is_none() && drafted.draft.say.is_empty() {
            // It ended the conversation with a signal that does not count.
            return Err(simulator::said_nothing(drafted.sent_back + 1, &drafted.draft.raw));
        }
        let unanswered = situation.turns.last().and_then(|turn| turn.said().map(std::borrow::Cow::into_owned));
        match end {
            Some(End { signal: Signal::OutOfScope, .. }) => Ok((drafted, end, unanswered)),
            _ => Ok((drafted, end, None)),
        }
    });
    if simulator.extras.self_check() != SelfCheck::Off {
        stage.progress.user_lines.push(UserLine { turn: number, faults: faults.clone(), unknown: false });
    }
    let (drafted, end, unanswered) = match spoken {
        Ok(spoken) => spoken,
        Err(failure) => {
            // The turn that this call was made for never exists.
            stage.settle_trial();
            return Err(failure.in_turn(number));
        }
    };
    let Drafted { draft, prompt_for_debug, sent_back, summed_up, calls } = drafted;
    stage.transcript.parts_done(draft.parts_done);
    if place.debug {
        tracing::info!(trial = %stage.ticket.trial.id, turn = number, reply = draft.raw, "user simulation");
        stage.transcript.note("simulator_prompt", prompt_for_debug);
        stage.transcript.note("simulator_reply", draft.raw);
        if let Some(thought) = draft.thought {
            stage.transcript.note("simulator_thought", thought);
        }
    }
    match end {
        Some(end) if !end.says_farewell => {
            stage.transcript.user_calls(calls);
            // The text of this line is dropped.
            if let Some(line) = stage.progress.user_lines.last_mut() {
                line.faults.retain(|fault| !fault.sent);
            }
            stage.settle_trial();
            match unanswered {
                Some(question) => {
                    let turn = stage.transcript.number();
                    stage.progress.stop = Some(Stop { who: end.who, signal: end.signal.name().to_owned(), turn });
                    Err(out_of_scope(&question).in_turn(turn))
                }
                None => Ok(Next::Stop(end)),
            }
        }
        _ => {
            let (words, untyped) = match user.typed(&draft.say, seed) {
                Some(typed) => (typed, Some(draft.say)),
                None => (draft.say, None),
            };
            let state = user.state().map(str::to_owned);
            let kept = Simulated { sent_back, summed_up, faults, untyped, state, calls, ..Simulated::default() };
            stage.transcript.simulated(kept);
            Ok(Next::Say(Line { words, speaker: Origin::Simulated, farewell: end.or(farewell) }))
        }
    }
}

fn out_of_scope(question: &str) -> Failure {
    let message = format!("the scenario does not say what the simulated user must answer to {question:?}");
    Failure::new(FailureKind::OutOfScope, message)
}
