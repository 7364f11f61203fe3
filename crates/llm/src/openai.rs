//! The client for servers that speak OpenAI's chat completions, embeddings and moderations, as most of them do.
//!
//! [`Client`] makes the calls. For chats, `request` writes the body, `reply` reads a whole answer or a piece of one, and
//! `gather` joins the pieces. `measure` writes and reads embeddings and moderations. `unsupported` finds the parameter
//! that a server refuses. What it shares with other HTTP clients is in [`crate::http`].

mod client;
mod gather;
mod measure;
mod reply;
mod request;
mod unsupported;

pub use client::{Client, Settings};
pub(crate) use request::RESERVED;
pub use request::SchemaMode;
