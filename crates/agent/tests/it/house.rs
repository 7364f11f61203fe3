//! Agents as the settings write them, and conversations with them.

use std::{sync::Arc, time::Duration};

use agent::{Agent, Exchange, Reply, Session, Settings, Start, Surroundings};
use record::FailureKind;
use scenario::Message;
use serde_json::Value;

pub(crate) fn surroundings() -> Surroundings {
    Surroundings { may_execute: true, slots: 4, ..Surroundings::default() }
}

pub(crate) fn settings(value: Value) -> Settings {
    serde_json::from_value(value).expect("settings")
}

pub(crate) fn connect(value: Value) -> Arc<dyn Agent> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    agent::connect("shop", &settings(value), &surroundings()).expect("connects").expect("is no chat model")
}

pub(crate) fn start(conversation: &str) -> Start {
    let context = llm::Context {
        run: "r1".into(),
        scenario: "refund".into(),
        persona: "ann".into(),
        trial: conversation.to_owned(),
        ..llm::Context::default()
    };
    Start {
        conversation: conversation.to_owned(),
        context,
        seed: 7,
        opening: Vec::new(),
        plugins: Vec::new(),
        tools: None,
    }
}

pub(crate) async fn open(agent: &dyn Agent, conversation: &str) -> Box<dyn Session> {
    agent.open(start(conversation)).await.expect("opens")
}

pub(crate) async fn say(session: &mut dyn Session, turn: u32, text: &str) -> Result<Reply, agent::Error> {
    say_within(session, turn, text, Duration::from_secs(20)).await
}

pub(crate) async fn say_within(
    session: &mut dyn Session,
    turn: u32,
    text: &str,
    timeout: Duration,
) -> Result<Reply, agent::Error> {
    session.say(Exchange { messages: &[Message::user(text)], turn, timeout, trace: Some(trace(turn)), cue: None }).await
}

/// A trace a conversation, a span a turn.
pub(crate) fn trace(turn: u32) -> llm::Trace {
    llm::Trace { id: 42, span: turn.into(), sampled: true }
}

/// The text of a reply, or the kind of the error with a part of its message.
pub(crate) fn outcome(said: &Result<Reply, agent::Error>) -> (Option<FailureKind>, String) {
    match said {
        Ok(reply) => (None, reply.text.clone()),
        Err(error) => (Some(error.kind), error.message.clone()),
    }
}
