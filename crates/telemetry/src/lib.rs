//! The telemetry of a process: logs, metrics and OpenTelemetry. The crate `redact` cleans every text on its way out.
//!
//! [`logs`] sets up the log on stderr; [`metrics`] counts; [`otel`] sends spans, metrics and log records to a collector
//! if one is configured; [`process`] measures this process; [`trace`] builds the spans; `asked` has the attributes that spans and metrics share.

pub mod logs;
pub mod metrics;
pub mod names;
pub mod otel;
pub mod process;
pub mod trace;

mod asked;

pub use asked::Endpoint;
pub use trace::Traces;
