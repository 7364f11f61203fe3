//! A conversation of a quality battery: a tester or a test speaks, the agent answers, and the conversation is examined
//! at the end.

use std::{sync::Arc, time::Duration};

use agent::{Exchange, Start};
use evaluate::battery::{self, Conversation};
use record::{
    Call, Failure, FailureKind, Role,
    battery::{Examined, Head},
    turn::Origin,
};
use scenario::{
    Battery, Message,
    battery::{Answer, Examination, Kind, Part, Saved, Test, Tester, planning},
    conversation::Simulator,
    message,
};
use tokio::time::Instant;
use user::User;

use super::{
    agent_calls::{Broken, answered_calls},
    next_line::{Next, Place, next_line},
    say::say,
    stage::Stage,
};
use crate::simulator::misconfigured;

/// Holds the conversation, or takes a saved one, and examines it.
pub(super) async fn examine(stage: &mut Stage, step: u32, battery: &Battery) -> Result<(), Failure> {
    stage.progress.conversations += 1;
    let examination = battery.examination(stage.ticket.trial.seed);
    let head = Head {
        requirements: battery.requirements(),
        examination: examination.clone(),
        thresholds: battery.thresholds,
        shown: battery.shown,
        compat: battery.compat,
        saved: battery.saved.is_some(),
    };
    // An aborted conversation has a head too.
    stage.examined = Some(Box::new(Examined { head, replies: Vec::new() }));
    let first_turn = stage.transcript.len();
    match &battery.saved {
        Some(saved) => recall(stage, step, saved),
        None => hold(stage, step, battery, &examination).await?,
    }
    let conversation =
        Conversation { battery, examination: &examination, turns: &stage.transcript.turns()[first_turn..], step };
    let judges = stage.judges().gated(stage.ticket.scripts.plan().gates.judges.as_ref());
    let battery::Found { judgments, replies } = battery::examine(conversation, &judges).await;
    stage.judgments.extend(judgments);
    if let Some(examined) = &mut stage.examined {
        examined.replies = replies;
    }
    stage.settle_trial();
    Ok(())
}

async fn hold(stage: &mut Stage, step: u32, battery: &Battery, examination: &Examination) -> Result<(), Failure> {
    let mut history = stage.script.scenario.opening.clone();
    if battery.random_start {
        let sentence = planning::opening(stage.ticket.trial.seed);
        history.extend([Message::user("Hey"), Message::text_of(message::Speaker::Agent, sentence)]);
    }
    stage.line.restart_with(history.clone());
    let timeout = Duration::from_millis(battery.turn_timeout_ms);
    let first_turn = stage.transcript.len();
    let mut lines = 0;
    for test in &examination.turns {
        let (line, speaker) = match (test, &battery.tester) {
            (Some(test), _) => (test.text.clone(), Origin::Scripted),
            (None, Tester::Lines(written)) => {
                let line = written.get(lines % written.len().max(1)).cloned().unwrap_or_default();
                lines += 1;
                (line, Origin::Scripted)
            }
            (None, Tester::Model(simulator)) => {
                (model_line(stage, battery, simulator, first_turn).await?, Origin::Simulated)
            }
            (None, Tester::Agent(name)) => {
                let memory = battery.tester_memory as usize;
                (ask_tester(stage, name, last(&history, memory), timeout).await?, Origin::Simulated)
            }
        };
        if let Some(messages) = battery.agent_memory {
            // The new line is one of them.
            stage.line.restart_with(last(&history, messages as usize - 1).to_vec());
        }
        let cue = test.as_ref().and_then(|test| cue(test, examination));
        let said = Message::user(line);
        say(stage, step, std::slice::from_ref(&said), speaker, timeout, cue.as_ref()).await?;
        let answer = Message::text_of(message::Speaker::Agent, stage.transcript.last_reply());
        history.extend([said, answer]);
    }
    Ok(())
}

/// Asks a model, which has seen the last turns, for the next line.
async fn model_line(
    stage: &mut Stage,
    battery: &Battery,
    simulator: &Simulator,
    first_turn: usize,
) -> Result<String, Failure> {
    let mut user = User::new(simulator, false).map_err(|error| misconfigured(&error))?;
    // A turn is two messages.
    let shown = (battery.tester_memory as usize).div_ceil(2);
    let exchanges = u32::try_from(stage.transcript.len() - first_turn).unwrap_or(u32::MAX);
    let place = Place {
        first_seen: first_turn.max(stage.transcript.len().saturating_sub(shown)),
        opening: false,
        exchanges,
        lines_left: battery.length.saturating_sub(exchanges),
        debug: false,
    };
    match next_line(stage, &mut user, place).await? {
        Next::Say(line) => Ok(line.words),
        // The tester of a battery may not end the conversation.
        Next::Stop(_) => Ok(String::new()),
    }
}

/// Takes a saved conversation instead of holding one.
fn recall(stage: &mut Stage, step: u32, saved: &Saved) {
    for (said, answered) in &saved.exchanges {
        let mut turn = stage.transcript.begin(step, Origin::Scripted, said.clone(), 0);
        turn.agent = Some(answered.clone());
        stage.transcript.push(turn);
    }
}

/// Asks another agent for the next line. It sees the agent under test as its user.
async fn ask_tester(stage: &mut Stage, name: &str, history: &[Message], timeout: Duration) -> Result<String, Failure> {
    let number = stage.transcript.next_number();
    let tester = stage.agent(name, " to be the tester")?;
    let mut seen: Vec<Message> = history.iter().map(seen_from_the_other_side).collect();
    let prompt: Vec<Message> = seen.pop().into_iter().collect();
    let (context, seed) = stage.calling.of_user(number);
    let conversation = format!("{}-tester", stage.ticket.trial.id);
    let start = Start { conversation, context, seed, opening: seen, plugins: Vec::new(), tools: None };
    let failed = |error: agent::Error| {
        let kind = match error.kind {
            FailureKind::ProviderExhausted | FailureKind::BudgetUsedUp => error.kind,
            _ => FailureKind::SimulatorFailed,
        };
        Failure::new(kind, format!("the tester {name:?} failed: {error}")).in_turn(number)
    };
    let mut session = tester.open(start).await.map_err(failed)?;
    let came = Instant::now();
    let held = stage.calling.admission.pass().await;
    let asked = Instant::now();
    let trace = Some(stage.calling.trace_of_trial());
    let answer = session.say(Exchange { messages: &prompt, turn: number, timeout, trace, cue: None }).await;
    let started_micros = stage.calling.log.micros_since_start(came);
    let (calls, line) = match answer {
        Ok(reply) => (answered_calls(name, &reply, started_micros, held), Ok(reply.text)),
        Err(error) => {
            let broken = Broken::new(&*tester, &error, asked.elapsed(), timeout);
            (broken.calls(started_micros, held), Err(failed(error)))
        }
    };
    calls.into_iter().for_each(|call| stage.calling.log.push(Call { role: Role::UserSim, ..call }));
    line
}

fn seen_from_the_other_side(message: &Message) -> Message {
    let speaker = match message.speaker {
        message::Speaker::User => message::Speaker::Agent,
        message::Speaker::Agent => message::Speaker::User,
        other => other,
    };
    Message { speaker, ..message.clone() }
}

fn last(history: &[Message], messages: usize) -> &[Message] {
    &history[history.len().saturating_sub(messages)..]
}

/// The answer of an agent that does as it should.
fn cue(test: &Test, examination: &Examination) -> Option<Arc<llm::Cue>> {
    let set = examination.set(test.requirement, test.set)?;
    if set.kind == Kind::If {
        // The mock would repeat the tester, which the requirement forbids.
        let text = "Let us talk about something nicer.".to_owned();
        return Some(Arc::new(llm::Cue { text, ..llm::Cue::default() }));
    }
    let text = match (test.part, &set.answer) {
        (Part::Question, Some(Answer::Text(text))) => {
            // The answer, with the keyword by which an answering model recognises it.
            let asked = set.extract.as_deref().unwrap_or_default().trim_end_matches('?');
            format!("The {}: {text}.", asked.rsplit(' ').next().unwrap_or_default())
        }
        (Part::Question, Some(Answer::Yes(true))) => "Yes, that is so.".to_owned(),
        (Part::Question, Some(Answer::Yes(false))) => "No, that is not so.".to_owned(),
        (Part::Question, None) | (Part::Information, _) => return None,
    };
    Some(Arc::new(llm::Cue { text, ..llm::Cue::default() }))
}
