//! Leased trials in; records out.
//!
//! [`session`] talks to the coordinator, [`executor`] fills the slots, [`pacer`] waits for the times of
//! arrivals, [`trial`] plays one trial, and [`outbox`] holds the results until they are committed. [`tool_server`] answers agents that call their tools themselves,
//! [`custom_check`] runs custom checks. The worker's [`Resources`] (agents, models, hooks, checks) come from its
//! operator, never from a plan. [`alone`] plays a plan without a coordinator, for tests that play a few trials and
//! store nothing.

pub mod alone;
pub mod custom_check;
pub mod environment;
pub mod pacer;
pub mod rerun;
pub mod resources;
pub mod spent;
pub mod state_host;
pub mod termination;
pub mod tool_server;

mod admission;
mod call_texts;
mod compiled;
mod cue;
mod executor;
#[cfg(test)]
mod fakes;
mod http;
mod outbox;
mod purse;
mod record_redaction;
mod recorder;
mod session;
mod simulator;
mod trial;
mod worker;

pub use evaluate::JUDGE_MAX_TOKENS;
pub use resources::{Models, Resources};
pub use session::{Config, Drain, Error, Timing};
pub use worker::Worker;
