//! The mock model: an agent, a user and a judge without a key, answering the same to the same question.
//!
//! [`Behaviour`] says how it behaves, [`Mock`] is it in this process, [`server`] is it behind a socket.
//! What it says is worked out in `answer` from the request alone; what goes wrong and how long it takes,
//! in `weather`.

mod actions;
mod agent;
mod answer;
mod behaviour;
mod chance;
mod cue;
mod echo;
mod feeling;
mod judge;
mod measure;
mod model;
pub mod qna;
mod schema;
pub mod server;
#[cfg(test)]
mod tests;
mod topics;
mod user;
mod weather;
mod words;

pub use behaviour::{
    Behaviour, Delay, DelayKind, JudgeSkill, Lengths, PassRule, Pattern, RateLimit, Role, Rule, ScriptedCall,
};
pub use model::Mock;

/// What the agent says when it is drawn to fail. The mock judge finds a reply bad by these words.
pub const UNHELPFUL: &str = "I'm sorry, I can't help with that.";
