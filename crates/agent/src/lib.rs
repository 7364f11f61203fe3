//! The system under test: one file per kind of connection.
//!
//! An [`Agent`] opens a [`Session`] per conversation; a session takes messages and returns replies. [`settings`] lists
//! the kinds of agents, and [`build`](mod@build) creates them.
//!
//! `model` is a chat model with its history. Every other kind opens a `connection`, which answers a `request` with a
//! `response` and shares the layers of chat models: rate limits, retries, time limits and prices. A [`template`] builds
//! the request, a [`reading`] of JSON [`path`]s reads the answer.

pub mod a2a;
mod access;
pub mod ag_ui;
pub mod agent;
pub mod build;
mod connection;
pub mod custom_question_answering;
pub mod eliza;
pub mod emely;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod history;
pub mod http;
pub mod interactive;
mod kept;
mod knowledge;
mod model;
mod outcome;
pub mod path;
pub mod process_group;
pub mod qnamaker;
pub mod reading;
pub mod replayed;
mod request;
mod response;
mod section;
pub mod settings;
pub mod subprocess;
mod surroundings;
pub mod template;
mod terminal;
pub mod tools;
mod unconnected;
pub mod websocket;

pub use agent::{Agent, Error, Exchange, Reply, Session, Spent, Start};
pub use build::{build, connect};
pub use knowledge::Fault;
pub use settings::Settings;
pub use surroundings::Surroundings;
pub use tools::Tools;
