//! Small models that run in this process and measure texts: no server, no key, the same numbers each time.
//!
//! A [`Shelf`] is the folder where weights are kept, [`catalogue`] names those that gabfest knows, and [`fetch()`] puts
//! them on the shelf, each file checked by its digest. With the feature `candle`, `Local` takes a model from the
//! shelf and answers as any other [`llm::Model`]: `sentences` makes embeddings, and `heads` are what BERT models can
//! do besides. Without it models can be kept, but not run.

pub mod catalogue;
pub mod fetch;
pub mod shelf;

#[cfg(feature = "candle")]
mod bert;
#[cfg(feature = "candle")]
mod heads;
#[cfg(feature = "candle")]
mod local;
#[cfg(feature = "candle")]
mod sentences;

pub use catalogue::Known;
pub use fetch::fetch;
#[cfg(feature = "candle")]
pub use local::{Error, Local};
pub use shelf::Shelf;
