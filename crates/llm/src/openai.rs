//! The client for servers that speak OpenAI's chat completions, as most of them do.
//!
//! [`Client`] asks; `request` writes the body and [`headers`] what stands beside it; `reply` reads a whole
//! answer or a piece of one, `sse` cuts a stream into pieces and `gather` puts them together; `rejection`
//! and `wait` say what an answer means that is none; `connect` keeps connecting out of the latency.

mod client;
mod connect;
mod gather;
pub mod headers;
mod rejection;
mod reply;
mod request;
mod secrets;
mod sse;
mod wait;

pub use client::{Client, Settings};
pub use request::SchemaMode;
