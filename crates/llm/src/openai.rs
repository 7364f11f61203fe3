//! The client for servers that speak OpenAI's chat completions, embeddings and moderations, as most of them do.
//!
//! [`Client`] asks; `request` writes the body; `reply` reads a whole answer or a piece of one, and `gather` puts
//! pieces together; `measure` is body and answer of what asks for no words. What it shares with everything else that is
//! asked over HTTP is in [`crate::http`].

mod client;
mod gather;
mod measure;
mod reply;
mod request;

pub use client::{Client, Settings};
pub use request::SchemaMode;
