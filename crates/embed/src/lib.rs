//! Small models that score texts in this process: no server, no key, the same numbers each time.
//!
//! A [`Shelf`] is the folder of the weights, [`catalogue`] lists the known models, and [`fetch()`] downloads them to
//! the shelf and checks each file's digest. With the feature `candle`, `Local` runs a model from the shelf like any
//! other [`llm::Measures`]: `sentences` computes embeddings, `heads` does the rest. Without the feature, models can be
//! stored but not run.

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
