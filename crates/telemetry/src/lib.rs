//! What a process tells of itself: logs, metrics, OpenTelemetry, and the redactor that every sink passes.
//!
//! [`logs`] sets up what a process says on stderr; [`metrics`] counts what it does; [`otel`] sends spans, metrics and
//! log records to a collector where one is named; [`trace`] makes the spans; `asked` has the words that spans and metrics
//! share; [`redact()`] keeps keys out of all that leaves the process.

pub mod logs;
pub mod metrics;
pub mod names;
pub mod otel;
pub mod redact;
pub mod trace;

mod asked;

pub use asked::Endpoint;
pub use redact::{Redactor, redact, register};
pub use trace::Traces;
