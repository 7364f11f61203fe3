//! One exchange with the agent: send a message, receive the reply, keep the turn.

use std::{sync::Arc, time::Duration};

use agent::{Agent, Exchange, Reply};
use record::{Call, Failure, Turn, trial::TurnLatency, turn::Origin};
use scenario::{Message, message};
use tokio::time::Instant;

use super::{
    agent_calls::{Broken, answered_calls},
    agent_line::Asked,
    opening,
    stage::Stage,
};
use crate::{call_texts, recorder::micros};

/// Sends one message to the agent. The turn is kept even if no answer arrives.
pub(super) async fn say(
    stage: &mut Stage,
    step: u32,
    messages: &[Message],
    speaker: Origin,
    timeout: Duration,
    cue: Option<&Arc<llm::Cue>>,
) -> Result<(), Failure> {
    let agent = stage.agent(&stage.script.case.agent, "")?;
    if !stage.line.is_open() {
        // Boxed: it runs once, and a future reserves room for all that it may await. Thousands of trials wait at once.
        Box::pin(opening::open(stage, &*agent)).await?;
    }
    let number = stage.transcript.next_number();
    if let Some(pause) = pause(stage, step, number, messages) {
        // Boxed as well: most scenarios have none.
        Box::pin(tokio::time::sleep(pause)).await;
    }
    let came = Instant::now();
    let held = stage.calling.admission.pass().await;
    // From here on, what the agent calls belongs to this turn.
    stage.line.toolbox.begin_turn(stage.transcript.last_mut());
    let asked_at = Instant::now();
    let trace = Some(stage.calling.trace_of_agent(number));
    let started_micros = stage.calling.log.micros_since_start(came);
    let asked = Asked { agent: Arc::clone(&agent), started_micros, held, at: asked_at };
    let answer = stage.line.ask(asked, Exchange { messages, turn: number, timeout, trace, cue }).await;
    let responded = came.elapsed();
    let mut turn = stage.transcript.begin(step, speaker, message::said(messages), started_micros);
    // A trial that started late made its user wait for the first reply. Later turns follow the reply before them.
    let is_first = stage.transcript.latencies().is_empty() && stage.transcript.unanswered() == 0;
    let late = if is_first { stage.progress.late } else { Duration::ZERO };
    turn.response_micros = Some(micros(late + responded));
    let failure = match answer {
        Ok(reply) => {
            answered(stage, &mut turn, &*agent, messages, reply, held);
            stage.transcript.answered(TurnLatency::of(&turn, started_micros.saturating_add(micros(responded))));
            None
        }
        Err(error) => {
            let broken = Broken::new(&*agent, &error, asked_at.elapsed(), timeout);
            not_answered(stage, &mut turn, &broken, messages, held);
            Some(Failure::new(error.kind, error.message))
        }
    };
    stage.line.toolbox.hand_over(&mut turn);
    let too_long = stage.transcript.push_exchange(turn).err();
    failure.or(too_long).map_or(Ok(()), |failure| Err(failure.in_turn(number)))
}

/// What a person does before the line is sent: neither the agent's time nor a wait for a limit.
/// The first line has none: it is what the conversation starts with.
fn pause(stage: &Stage, step: u32, number: u32, messages: &[Message]) -> Option<Duration> {
    let index = usize::try_from(step).ok()?.checked_sub(1)?;
    let pauses = stage.script.pauses.get(index).filter(|_| number > 1)?;
    let pause = pauses.before(stage.ticket.trial.seed, number, &message::said(messages));
    (!pause.is_zero()).then_some(pause)
}

fn answered(stage: &mut Stage, turn: &mut Turn, agent: &dyn Agent, messages: &[Message], reply: Reply, held: Duration) {
    turn.duration_micros = micros(reply.took());
    let mut calls = answered_calls(agent.name(), &reply, turn.started_micros, held);
    call_texts::add_to_exchange(&stage.calling.log, &mut calls, messages, Some(&reply));
    add_calls(stage, turn, calls);
    turn.agent = Some(reply.text);
    turn.messages = reply.messages;
    turn.notes.extend(reply.notes);
    turn.tool_calls = reply.tool_calls;
    turn.actions = reply.actions;
}

fn not_answered(stage: &mut Stage, turn: &mut Turn, broken: &Broken<'_>, messages: &[Message], held: Duration) {
    stage.transcript.not_answered();
    turn.duration_micros = micros(broken.took);
    let mut calls = broken.calls(turn.started_micros, held);
    call_texts::add_to_exchange(&stage.calling.log, &mut calls, messages, broken.reply());
    add_calls(stage, turn, calls);
    if let Some(reply) = broken.reply() {
        // What the agent said and did before it failed.
        turn.messages.clone_from(&reply.messages);
        turn.tool_calls.clone_from(&reply.tool_calls);
        turn.actions.clone_from(&reply.actions);
    }
}

fn add_calls(stage: &Stage, turn: &mut Turn, calls: Vec<Call>) {
    calls.iter().for_each(|call| stage.calling.log.owe(call));
    turn.calls.reserve_exact(calls.len());
    turn.calls.extend(calls);
}
