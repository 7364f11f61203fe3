//! How often, how much and how many at once an endpoint may be asked; shared by all who ask it.
//!
//! [`Limit`] gives a [`Permit`] for each call and knows how long the call waited for it; [`Limited`] is the
//! layer that does so round a model. Agents that are no language models use [`Limit`] by itself.

mod gate;
mod layer;
mod requests;
mod settings;
mod tokens;

pub use gate::{Limit, Permit};
pub use layer::{Attempt, Limited};
pub use settings::Settings;
