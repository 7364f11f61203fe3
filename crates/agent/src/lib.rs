//! The system under test: one file per kind of connection.
//!
//! An [`Agent`] opens a [`Session`] per conversation; a session takes messages and gives replies.

pub mod agent;

pub use agent::{Agent, Error, Exchange, Reply, Session, Start};
