//! Leased trials in; records out.
//!
//! [`session`] speaks with the coordinator, [`executor`] fills the slots, [`trial`] plays one trial with
//! [`conversation`] as its turn loop, and [`outbox`] holds the results until they are committed. [`tool_server`] answers
//! agents that call their tools by themselves. What the
//! worker plays with ([`Resources`]) comes from its operator, never from a plan.
//! [`alone`] is the same without a coordinator, for tests that play a few trials and keep nothing.

pub mod alone;
pub mod environment;
pub mod resources;
pub mod termination;
pub mod tool_server;

mod battery;
mod bench;
mod conversation;
mod cue;
mod executor;
#[cfg(test)]
mod fakes;
mod gate;
mod outbox;
mod recorder;
mod redact;
mod script;
mod session;
mod simulator;
pub mod spent;
mod stage;
mod toolbox;
mod trial;
mod worker;

pub use evaluate::JUDGE_MAX_TOKENS;
pub use resources::{Models, Resources};
pub use session::{Config, Drain, Error, Timing};
pub use worker::Worker;
