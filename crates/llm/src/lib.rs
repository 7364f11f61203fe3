//! Everything that asks a language model: clients, limits, retries, and the mock model.
//!
//! One small trait, [`Model`]; [`openai`] speaks to servers over [`http`], [`mock`] answers by itself; [`limit`] and
//! [`retry`] are layers round any of them; [`endpoint`] builds the stack that the settings describe. A [`key`] is
//! named by its place, a [`price`] turns tokens into money, and an `estimate` stands for tokens not yet counted.
//! A [`hint`] says what mends an error, [`json`] how much of it is read. [`Absent`] stands for a model whose key is not there.

mod absent;
pub mod endpoint;
pub mod error;
mod estimate;
pub mod hint;
pub mod http;
pub mod json;
pub mod key;
pub mod limit;
pub mod mock;
pub mod model;
pub mod openai;
pub mod price;
pub mod retry;
mod time_limit;

pub use absent::Absent;
pub use error::Error;
pub use model::{Context, Cue, Effort, Failed, Message, Model, Reply, Request, Task, Timing, Trace, Usage};
