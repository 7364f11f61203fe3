//! Endpoints: a model as the settings describe it, and its stack of layers.
//!
//! From the inside out: the client (or the mock), the time limit, the price, the rate limit, the retries. So each try
//! takes its own permit and has its own price. Around them are the context window and the token cap, if the settings
//! have them. [`Layers`] are the layers for agents of every kind.

mod build;
mod capped;
mod family;
mod fitting;
mod layers;
mod settings;
mod spoken;

pub use build::{Endpoint, Error};
pub use layers::Layers;
pub use settings::{Kind, Retries, Settings, SystemRole};
