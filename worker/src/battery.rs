//! A conversation of a quality battery: the tester or a test speaks, the agent answers, and all is examined at the end.

use std::{sync::Arc, time::Duration};

use agent::{Exchange, Start};
use evaluate::battery::{self, Conversation};
use record::{
    Call, Failure, FailureKind, Role, Turn,
    battery::{Head, NOTE},
    turn::Speaker,
};
use scenario::{
    Battery, Message,
    battery::{Answer, Examination, Kind, Part, Saved, Test, Tester, planning},
    ids::seed_of,
    message,
};
use tokio::time::Instant;

use crate::{
    conversation,
    stage::{Broken, Stage, answered_calls},
};

/// Holds the conversation, or takes the one that was held before, and examines it.
pub(crate) async fn examine(stage: &mut Stage, step: u32, battery: &Battery) -> Result<(), Failure> {
    stage.conversations += 1;
    let examination = battery.examination(stage.ticket.trial.seed);
    let head = Head {
        requirements: battery.requirements(),
        examination: examination.clone(),
        thresholds: battery.thresholds,
        shown: battery.shown,
        compat: battery.compat,
        saved: battery.saved.is_some(),
    };
    stage.note(NOTE, serde_json::to_string(&head).expect("the head of a battery has only string keys"));
    let first_turn = stage.turns.len();
    match &battery.saved {
        Some(saved) => recall(stage, step, saved),
        None => hold(stage, step, battery, &examination).await?,
    }
    let conversation = Conversation { battery, examination: &examination, turns: &stage.turns[first_turn..], step };
    let judgments = battery::examine(conversation, &stage.bench).await;
    stage.judgments.extend(judgments);
    stage.settle_trial();
    Ok(())
}

async fn hold(stage: &mut Stage, step: u32, battery: &Battery, examination: &Examination) -> Result<(), Failure> {
    let mut history = stage.script.scenario.opening.clone();
    if battery.random_start {
        let sentence = planning::opening(stage.ticket.trial.seed);
        history.extend([Message::user("Hey"), Message::text_of(message::Speaker::Agent, sentence)]);
    }
    stage.remember(history.clone());
    let timeout = Duration::from_millis(battery.turn_timeout_ms);
    let first_turn = stage.turns.len();
    let mut lines = 0;
    for test in &examination.turns {
        let (line, speaker) = match (test, &battery.tester) {
            (Some(test), _) => (test.text.clone(), Speaker::Scripted),
            (None, Tester::Lines(written)) => {
                let line = written.get(lines % written.len().max(1)).cloned().unwrap_or_default();
                lines += 1;
                (line, Speaker::Scripted)
            }
            (None, Tester::Model(simulator)) => {
                // A turn is two messages.
                let shown = (battery.tester_memory as usize).div_ceil(2);
                let first = first_turn.max(stage.turns.len().saturating_sub(shown));
                (conversation::next_line(stage, simulator, false, first).await?, Speaker::Simulated)
            }
            (None, Tester::Agent(name)) => {
                let memory = battery.tester_memory as usize;
                (ask_tester(stage, name, last(&history, memory), timeout).await?, Speaker::Simulated)
            }
        };
        if let Some(messages) = battery.agent_memory {
            // What is said now is one of them.
            stage.remember(last(&history, messages as usize - 1).to_vec());
        }
        let cue = test.as_ref().and_then(|test| cue(test, examination));
        let said = Message::user(line);
        stage.say(step, std::slice::from_ref(&said), speaker, timeout, cue.as_ref()).await?;
        let answer = Message::text_of(message::Speaker::Agent, stage.last_reply());
        history.extend([said, answer]);
    }
    Ok(())
}

/// Puts a conversation that was held before in the place of one that is held.
fn recall(stage: &mut Stage, step: u32, saved: &Saved) {
    for (said, answered) in &saved.exchanges {
        let notes = std::mem::take(&mut stage.notes);
        let number = stage.next_number();
        stage.push(Turn {
            number,
            step,
            speaker: Speaker::Scripted,
            user: said.clone(),
            agent: Some(answered.clone()),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            calls: Vec::new(),
            notes,
        });
    }
}

/// Another agent speaks: to it, the agent under test is the user.
async fn ask_tester(stage: &mut Stage, name: &str, history: &[Message], timeout: Duration) -> Result<String, Failure> {
    let number = stage.next_number();
    let tester = stage.resources.agents.get(name).cloned().ok_or_else(|| {
        Failure::new(
            FailureKind::Misconfigured,
            format!("this worker's settings have no agent {name:?} to be the tester"),
        )
    })?;
    let mut seen: Vec<Message> = history.iter().map(seen_from_the_other_side).collect();
    let prompt: Vec<Message> = seen.pop().into_iter().collect();
    let context = llm::Context {
        role: Role::UserSim.name().to_owned(),
        turn: number,
        idempotency_key: format!("{}/user_sim/{number}", stage.bench.template.idempotency_key),
        trace: Some(stage.trace_of_trial()),
        ..stage.bench.template.clone()
    };
    let seed = seed_of(&[&stage.ticket.trial.seed.to_le_bytes(), b"user_sim", &number.to_le_bytes()]);
    let conversation = format!("{}-tester", stage.ticket.trial.id);
    let start = Start { conversation, context, seed, opening: seen, plugins: Vec::new(), tools: None };
    let failed = |error: agent::Error| {
        let kind = match error.kind {
            FailureKind::ProviderExhausted => FailureKind::ProviderExhausted,
            _ => FailureKind::SimulatorFailed,
        };
        Failure::new(kind, format!("the tester {name:?} failed: {error}")).in_turn(number)
    };
    let mut session = tester.open(start).await.map_err(failed)?;
    let came = Instant::now();
    let held = stage.gate().pass().await;
    let asked = Instant::now();
    let trace = Some(stage.trace_of_trial());
    let answer = session.say(Exchange { messages: &prompt, turn: number, timeout, trace, cue: None }).await;
    let started_micros = stage.log().micros_since_start(came);
    let (calls, line) = match answer {
        Ok(reply) => (answered_calls(name, &reply, started_micros, held), Ok(reply.text)),
        Err(error) => {
            let broken = Broken::new(&*tester, &error, asked.elapsed(), timeout);
            (broken.calls(started_micros, held), Err(failed(error)))
        }
    };
    calls.into_iter().for_each(|call| stage.log().push(Call { role: Role::UserSim, ..call }));
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

/// What an agent that does as it should would answer.
fn cue(test: &Test, examination: &Examination) -> Option<Arc<llm::Cue>> {
    let set = examination.set(test.requirement, test.set)?;
    if set.kind == Kind::If {
        // The mock would say it after the tester, which is what must not be.
        let text = "Let us talk about something nicer.".to_owned();
        return Some(Arc::new(llm::Cue { text, ..llm::Cue::default() }));
    }
    let text = match (test.part, &set.answer) {
        (Part::Question, Some(Answer::Text(text))) => {
            // The answer, and the word that tells an answering model that it is one.
            let asked = set.extract.as_deref().unwrap_or_default().trim_end_matches('?');
            format!("The {}: {text}.", asked.rsplit(' ').next().unwrap_or_default())
        }
        (Part::Question, Some(Answer::Yes(true))) => "Yes, that is so.".to_owned(),
        (Part::Question, Some(Answer::Yes(false))) => "No, that is not so.".to_owned(),
        (Part::Question, None) | (Part::Information, _) => return None,
    };
    Some(Arc::new(llm::Cue { text, ..llm::Cue::default() }))
}
