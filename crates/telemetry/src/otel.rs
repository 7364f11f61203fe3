//! OpenTelemetry: exports spans, metrics and log records, if an `OTEL_*` variable enables it.
//!
//! [`config`] reads the variables. [`telemetry`] is what a process starts and stops. [`connection`] connects to collectors,
//! [`exporter`] sends, and [`watch`] wraps it: a dead, slow or hanging collector causes one warning and never affects a
//! verdict.

pub mod config;

pub(crate) mod clean;
mod connection;
mod error;
mod exporter;
mod queue;
mod records;
mod resource;
mod spans;
mod telemetry;
mod watch;

pub use config::Config;
pub use error::Error;
pub use exporter::MetricExporter;
pub use queue::Dropped;
pub use resource::Service;
pub use spans::Spans;
pub use telemetry::Telemetry;
