//! Figures of a running process, for Prometheus and for OTLP.
//!
//! [`catalogue`] lists every metric, [`Worker`] and [`Coordinator`] are the handles that these two observe with,
//! [`Meters`] holds them together, and [`endpoint`] serves them over HTTP. A handle that is off costs nothing.
//! [`labels`] bounds the number of series, whatever scenarios and endpoints are called.

pub mod catalogue;
pub mod endpoint;

mod coordinator;
mod instruments;
mod labels;
mod meters;
mod worker;

pub use coordinator::{Coordinator, Fleet, Queue};
pub use endpoint::Health;
pub use meters::{Meters, Page};
pub use worker::{Place, Worker};

#[cfg(test)]
mod tests;
