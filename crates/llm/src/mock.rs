//! The mock model: an agent, a user, a judge and a scorer without a key. It answers the same question always the same.
//!
//! [`Behaviour`] holds its settings, [`Mock`] runs in this process, [`server`] runs behind a socket. `answer` computes
//! its replies from the request alone, with one file for each role: `agent`, `user`, `judge` and `measure`. `weather`
//! draws faults and delays.

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
mod queue;
mod schema;
pub mod server;
#[cfg(test)]
mod tests;
mod tokens;
mod topics;
mod user;
mod user_fault;
mod weather;
mod words;

pub use behaviour::{
    Behaviour, Delay, DelayKind, JudgeSkill, Lengths, PassRule, Pattern, RateLimit, Role, Rule, ScriptedCall,
};
pub use model::Mock;
pub use user_fault::UserFaults;

/// The agent's reply in a turn that fails. The mock judge recognises a bad reply by this text.
pub const UNHELPFUL: &str = "I'm sorry, I can't help with that.";
