//! How often, how much and how many at once an endpoint may be asked; shared by all who ask it.
//!
//! [`Limit`] gives a [`Permit`] for each call and knows how long the call waited for it; [`Limited`] is the
//! layer that does so round a model. Agents that are no language models use [`Limit`] by itself. Where several
//! workers ask one endpoint, each may use its [`Share`] of the limits.

mod bucket;
mod gate;
mod layer;
mod settings;
mod share;
mod slots;

pub use gate::{Limit, Permit};
pub use layer::{Attempt, Limited};
pub use settings::Settings;
pub use share::Share;
