//! Everything that asks a language model: clients, rate limits, retries, prices and the mock model.
//!
//! One small trait, [`Call`], is generic over what is asked. On top of it stand [`Chat`] (messages in, a message and
//! tool calls out) and [`Measures`] (embeddings, moderation, …). [`limit`], [`retry`] and [`price`] are layers round any
//! call, which agents use too. [`endpoint`] builds the stack of layers that the settings describe.
//!
//! `client` calls servers over [`http`] in a [`dialect`], `gather` joins what they send. [`mock`] answers by itself, and
//! [`Absent`] takes the place of a model whose key is missing. A [`key`] is named by its place, a [`hint`] tells how to
//! fix an error, and [`json`] bounds what is read.

mod absent;
mod anthropic;
mod bedrock;
mod by_tool;
pub mod call;
pub mod chat;
mod client;
mod context;
pub mod credential;
mod cue;
pub mod dialect;
pub mod endpoint;
pub mod error;
mod estimate;
mod gather;
mod gemini;
pub mod hint;
pub mod http;
pub mod json;
pub mod key;
pub mod limit;
pub mod measure;
mod message;
pub mod mock;
mod openai;
pub mod price;
pub mod prices;
mod receipt;
mod responses;
pub mod retry;
mod thinking;
mod time_limit;
mod unsupported;
#[cfg(test)]
mod wire;

pub use absent::Absent;
pub use call::{Call, Failed, Named};
pub use chat::Chat;
pub use context::{Context, Trace};
pub use cue::Cue;
pub use error::Error;
pub use measure::Measures;
pub use message::{Annotation, FunctionCall, Message, MessageRole};
pub use receipt::{Allowed, Effort, Receipt, Timing, Usage};
