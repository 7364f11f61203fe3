//! Expected conversations with a chat agent, written in a `#[tokio::test]`.
//!
//! ```
//! use gabfest::expect::{self, Agent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let agent = Agent::from_fn(|message| async move {
//!     Ok(if message.text.contains("close") { "We close at six." } else { "Hello! How can I help?" })
//! });
//! expect::conversation("opening hours")
//!     .user("Hi")
//!     .agent("*")
//!     .user("When do you close?")
//!     .agent(["We close at six.", "We close at 6 pm."])
//!     .against(agent)
//!     .times(8)
//!     .required(7)
//!     .run()
//!     .await;
//! # }
//! ```
//!
//! [`conversation`] defines a conversation and [`file`](file()) reads one. `against` selects the [`Agent`]. The [`Run`] sets
//! the repeats and the [`Judge`]. The terms are those of `*.conversation.yaml` files, and the same worker plays both.
//! `docs/expect.md` is the guide.

mod agent;
mod answer;
mod around;
mod closure;
mod conversation;
mod endpoints;
mod file;
mod judge;
mod message;
mod outcome;
mod required;
mod run;
mod script;
mod settings;

pub use self::{
    agent::Agent,
    answer::{Answer, Event, ExpectedCall, reply},
    closure::{AgentError, Message, Reply, Said},
    conversation::{Conversation, conversation},
    file::{File, file},
    judge::Judge,
    outcome::{Error, Outcome, Report},
    required::Required,
    run::Run,
};
/// The traits for custom agents and judges ([`Agent::custom`], [`Judge::model`]), and the types of a [`Report`].
pub use {::agent as agents, llm, record, scenario::message::Speaker, worker::alone::Played};
