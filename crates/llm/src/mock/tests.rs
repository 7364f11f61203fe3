//! Properties that others rely on: the same answer to the same question, known truths, and plausible conversations.

mod conversations;
mod dialects;
mod http;
mod same_answer;
mod truth;

use crate::{
    Call as _, Context, Message,
    chat::{Reply, Request},
};

use super::{Behaviour, Mock};

/// A question to the mock in this role.
fn request(role: &str, seed: u64, messages: Vec<Message>) -> Request {
    let context = Context {
        role: role.to_owned(),
        scenario: "Refund".to_owned(),
        persona: "calm".to_owned(),
        trial: format!("trial-{seed}"),
        turn: 1,
        ..Context::default()
    };
    Request { messages, seed: Some(seed), context, ..Request::default() }
}

async fn ask(behaviour: &Behaviour, request: &Request) -> Reply {
    Mock::new("mock", behaviour.clone()).ask(request).await.expect("answers")
}
