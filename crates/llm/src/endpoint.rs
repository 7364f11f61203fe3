//! Endpoints: a model as the settings file describes it, and its stack of layers.
//!
//! From the inside out: the client (or the mock), the time limit, the price, the rate limit, the retries. So each try
//! takes a permit of its own and has a price of its own. [`Layers`] are those for agents of every kind.

mod build;
mod capped;
mod layers;
mod settings;
mod spoken;

pub use build::{Endpoint, Error};
pub use layers::Layers;
pub use settings::{Kind, Retries, Settings, SystemRole};
