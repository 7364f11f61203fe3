//! Rate limits: the requests and tokens a minute, the requests a day and the concurrent calls that an endpoint allows.
//!
//! A [`Limiter`] belongs to one endpoint and is shared by all its callers. It gives a [`Permit`] for each call and
//! measures the rate-limit wait. It learns the limits of a minute that a provider names in its answers, or that another worker has learned. [`Limited`] is the
//! layer that takes a permit for each try. Where several workers call one endpoint, each uses its [`Share`] of the limits.

mod adaptive;
mod amount;
mod breaker;
mod bucket;
mod concurrency;
mod day;
mod episodes;
mod health;
mod layer;
mod learned;
mod limiter;
mod settings;
mod share;
mod steady;
mod usage;

pub use amount::Amount;
pub use day::{DayGrant, DayUsedUp, DayWord};
pub use episodes::Episode;
pub use layer::{Attempt, Limited};
pub use limiter::{Limiter, Permit};
pub use settings::{Concurrency, Settings};
pub use share::Share;
pub use usage::{Demand, WHOLE};
