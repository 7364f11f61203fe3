//! The system under test: one file per kind of connection.
//!
//! An [`Agent`] opens a [`Session`] per conversation; a session takes messages and gives replies.
//! [`settings`] says which agents there are, [`build`] makes them.

pub mod agent;
mod model;
pub mod settings;

pub use agent::{Agent, Error, Exchange, Reply, Session, Spent, Start};
pub use settings::{Settings, build};
