//! OpenTelemetry: how spans, metrics and log records leave the process, when an `OTEL_*` variable asks for it.
//!
//! [`config`] reads the variables, [`telemetry`] is what a process starts and ends, [`connection`] how collectors are
//! reached, [`exporter`] what sends, and [`watch`] stands round it: a collector that is dead, slow or hanging costs one
//! warning and never a verdict.

pub mod config;

pub(crate) mod clean;
mod connection;
mod exporter;
mod queue;
mod records;
mod resource;
mod spans;
mod telemetry;
mod watch;

pub use config::Config;
pub use exporter::MetricExporter;
pub use queue::Dropped;
pub use resource::Service;
pub use spans::Spans;
pub use telemetry::{Error, Telemetry};
