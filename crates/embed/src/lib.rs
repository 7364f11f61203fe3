//! Small models that run in this process and measure texts: no server, no key, the same numbers each time.
//!
//! A [`Shelf`] is the folder that keeps the weights, [`catalogue`] names those that gabfest knows, and [`fetch()`] puts
//! them on the shelf and checks each file by its digest. With the feature `candle`, `Local` takes a model from the
//! shelf and measures as any other [`llm::Measures`]: `sentences` makes embeddings, `heads` does the rest. Without the
//! feature models can be kept, but not run.

pub mod catalogue;
pub mod fetch;
pub mod shelf;

#[cfg(feature = "candle")]
mod bert;
#[cfg(feature = "candle")]
mod error;
#[cfg(feature = "candle")]
mod heads;
#[cfg(feature = "candle")]
mod local;
#[cfg(feature = "candle")]
mod sentences;

pub use catalogue::Known;
#[cfg(feature = "candle")]
pub use error::Error;
pub use fetch::fetch;
#[cfg(feature = "candle")]
pub use local::{Local, Runnable, Work};
pub use shelf::Shelf;
