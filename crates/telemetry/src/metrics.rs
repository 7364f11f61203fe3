//! Metrics of a running process, for Prometheus and OTLP.
//!
//! [`catalogue`] lists every metric. [`Worker`] and [`Coordinator`] record through handles. [`Meters`] owns them, and
//! [`endpoint`] serves them over HTTP. A disabled handle costs nothing. [`labels`] bounds the number of series.

pub mod catalogue;
pub mod endpoint;

mod coordinator;
mod instruments;
mod labels;
mod meters;
mod worker;

pub use coordinator::{Coordinator, Fleet, Load, Money, Queue, Waiting};
pub use endpoint::Health;
pub use meters::{Meters, Page};
pub use worker::{TrialSeries, Worker};

#[cfg(test)]
mod tests;
