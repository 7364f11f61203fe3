//! Endpoints: what the settings file says of a model, and the stack of layers that comes of it.
//!
//! From the inside out: the client (or the mock), the price, the limit, the retries. So each try takes a permit
//! of its own and is priced by itself. [`Layers`] are those that hold for agents of every kind.

mod build;
mod capped;
mod layers;
mod settings;

pub use build::{Endpoint, Error};
pub use layers::Layers;
pub use settings::{Kind, Retries, Settings};
