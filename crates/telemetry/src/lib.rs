//! What a process tells of itself: logs, metrics and OpenTelemetry. Every text passes the crate `redact` on its way out.
//!
//! [`logs`] sets up what a process says on stderr; [`metrics`] counts what it does; [`otel`] sends spans, metrics and
//! log records to a collector where one is named; [`trace`] makes the spans; `asked` has the words that spans and metrics
//! share.

pub mod logs;
pub mod metrics;
pub mod names;
pub mod otel;
pub mod trace;

mod asked;

pub use asked::Endpoint;
pub use trace::Traces;
