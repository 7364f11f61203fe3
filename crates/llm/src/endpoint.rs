//! Endpoints: a model as the settings file describes it, and its stack of layers.
//!
//! From the inside out: the client (or the mock), the time limit, the price, the rate limit, the retries. So each try
//! takes a permit of its own and has a price of its own. Outside of them are the context window and the token cap, where
//! the settings name them. [`Layers`] are those for agents of every kind.

mod build;
mod capped;
mod fitting;
mod layers;
mod settings;
mod spoken;

pub use build::{Endpoint, Error};
pub use layers::Layers;
pub use settings::{Kind, Retries, Settings, SystemRole};
