//! The system under test: one file per kind of connection.
//!
//! An [`Agent`] opens a [`Session`] per conversation; a session takes messages and gives replies.
//! [`settings`] says which agents there are, [`build`] makes them.
//!
//! `model` is a chat model with its history; every other kind makes a `connection`, which `history` and the calls'
//! limits stand round. What is sent is written as a [`template`], what comes back is read by a [`reading`] of
//! JSON [`path`]s.

pub mod agent;
mod connection;
pub mod custom_question_answering;
pub mod eliza;
pub mod emely;
pub mod history;
pub mod http;
pub mod interactive;
mod knowledge;
mod model;
mod outcome;
pub mod path;
pub mod qnamaker;
pub mod reading;
pub mod replayed;
mod request;
mod response;
pub mod settings;
pub mod subprocess;
pub mod template;
pub mod tools;
pub mod websocket;

pub use agent::{Agent, Error, Exchange, Reply, Session, Spent, Start};
pub use knowledge::Fault;
pub use settings::{Settings, Surroundings, build, connect};
pub use tools::Tools;
