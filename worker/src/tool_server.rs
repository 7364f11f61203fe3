//! Tools for agents that call them by themselves: the scenario's mocks, by HTTP and by the Model Context Protocol.
//!
//! One [`listener`] serves all trials of a worker. A trial takes a [`Seat`] with a path of its own, behind which stands
//! its [`desk`]: what answers its calls and keeps them in a [`journal`]. [`http`] and [`mcp`] are the two ways to it.
//! [`place`] says where all this is.

mod desk;
mod http;
mod journal;
mod listener;
mod mcp;
mod place;
mod seat;
#[cfg(test)]
mod tests;
mod token;

pub use listener::{Error, ToolServer};
pub use place::Place;

pub(crate) use seat::Seat;
