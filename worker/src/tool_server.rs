//! Tools for agents that call them themselves: the scenario's mocks, by HTTP and by the Model Context Protocol.
//!
//! One [`listener`] at one [`address`] serves all trials of a worker. A trial's [`registration`] gives it its own path
//! and a [`handler`] that answers its calls and records them in a [`journal`]. [`http`] and [`mcp`] are the two
//! protocols; [`request`] is what they share.

mod address;
mod handler;
mod http;
mod journal;
mod listener;
mod mcp;
mod registration;
mod request;
#[cfg(test)]
mod tests;
mod token;

pub use address::ToolAddress;
pub use listener::{Error, ToolServer};

pub(crate) use registration::Registration;
