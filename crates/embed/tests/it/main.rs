//! Models on the shelf: downloads and scores.
#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped is the failure that it reports")]

mod fetching;
#[cfg(feature = "candle")]
mod heads;
#[cfg(feature = "candle")]
mod meaning;
#[cfg(feature = "candle")]
mod tiny;
