//! The client for servers that speak OpenAI's chat completions, embeddings and moderations, as most of them do.
//!
//! [`Client`] asks; `request` writes the body; `reply` reads a whole answer or a piece of one, and `gather` puts
//! pieces together; `measure` is body and answer of what asks for no words; `unsupported` finds the
//! parameter that a server refuses. What it shares with everything else that is
//! asked over HTTP is in [`crate::http`].

mod client;
mod gather;
mod measure;
mod reply;
mod request;
mod unsupported;

pub use client::{Client, Settings};
pub(crate) use request::RESERVED;
pub use request::SchemaMode;
