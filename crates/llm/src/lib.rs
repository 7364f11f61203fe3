//! Everything that calls a language model: clients, rate limits, retries, prices and the mock model.
//!
//! One small trait, [`Call`], is generic over the request. [`Chat`] (messages in, a message and tool calls out) and
//! [`Measures`] (embeddings, moderation, …) build on it. [`limit`], [`retry`] and [`price`] are layers around any call,
//! which agents use too. [`endpoint`] builds the stack of layers that the settings describe.
//!
//! `client` calls servers over [`http`] in a [`dialect`], and `gather` collects their answers. [`mock`] answers by
//! itself, [`Absent`] replaces a model whose key is missing, and a [`cassette`] answers from recorded calls. A [`key`] is named by its place, a [`hint`] says how
//! to fix an error, and [`json`] limits what is parsed.

mod absent;
mod anthropic;
mod bedrock;
mod by_tool;
pub mod call;
pub mod cassette;
pub mod chat;
mod client;
mod context;
pub mod credential;
mod cue;
pub mod dialect;
pub mod endpoint;
pub mod error;
mod estimate;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
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
pub mod money;
mod named_limits;
mod openai;
pub mod price;
pub mod prices;
mod receipt;
mod responses;
pub mod retry;
mod thinking;
mod time_limit;
mod unsupported;
#[cfg(any(test, fuzzing))]
mod wire;

pub use absent::Absent;
pub use call::{Call, Failed, Named};
pub use chat::Chat;
pub use context::{Context, Trace};
pub use cue::Cue;
pub use error::Error;
pub use estimate::BYTES_OF_IMAGE;
pub use measure::Measures;
pub use message::{Annotation, FunctionCall, Message, MessageRole};
pub use named_limits::{Allowed, ByLimit, Filling, Window, Windows};
pub use receipt::{Effort, Receipt, Timing, Usage};
