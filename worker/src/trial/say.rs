//! One exchange with the agent: say, hear, keep the turn.

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
use crate::recorder::micros;

/// Says one thing to the agent. The turn is kept also when no answer came.
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
        // Boxed: it happens once, and a future has room for all that it may await. Thousands of trials wait at once.
        Box::pin(opening::open(stage, &*agent)).await?;
    }
    let number = stage.transcript.next_number();
    let came = Instant::now();
    let held = stage.calling.admission.pass().await;
    // From here on, what the agent calls belongs to this turn.
    stage.line.toolbox.begin_turn(stage.transcript.last_mut());
    let asked_at = Instant::now();
    let trace = Some(stage.calling.trace_of_agent(number));
    let started_micros = stage.calling.log.micros_since_start(came);
    let asked = Asked { agent: Arc::clone(&agent), started_micros, held, at: asked_at };
    let answer = stage.line.ask(asked, Exchange { messages, turn: number, timeout, trace, cue }).await;
    let mut turn = stage.transcript.begin(step, speaker, message::said(messages), started_micros);
    let failure = match answer {
        Ok(reply) => {
            answered(stage, &mut turn, &*agent, reply, held);
            None
        }
        Err(error) => {
            let broken = Broken::new(&*agent, &error, asked_at.elapsed(), timeout);
            not_answered(stage, &mut turn, &broken, held);
            Some(Failure::new(error.kind, error.message))
        }
    };
    stage.line.toolbox.hand_over(&mut turn);
    let too_long = stage.transcript.push_exchange(turn).err();
    failure.or(too_long).map_or(Ok(()), |failure| Err(failure.in_turn(number)))
}

fn answered(stage: &mut Stage, turn: &mut Turn, agent: &dyn Agent, reply: Reply, held: Duration) {
    turn.duration_micros = micros(reply.took());
    add_calls(stage, turn, answered_calls(agent.name(), &reply, turn.started_micros, held));
    let ttft_micros = turn.first_token_micros();
    stage.transcript.answered(TurnLatency { total_micros: turn.duration_micros, ttft_micros });
    turn.agent = Some(reply.text);
    turn.messages = reply.messages;
    turn.notes.extend(reply.notes);
    turn.tool_calls = reply.tool_calls;
    turn.actions = reply.actions;
}

fn not_answered(stage: &mut Stage, turn: &mut Turn, broken: &Broken<'_>, held: Duration) {
    stage.transcript.not_answered();
    turn.duration_micros = micros(broken.took);
    add_calls(stage, turn, broken.calls(turn.started_micros, held));
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
