//! What a process tells of itself: logs, OpenTelemetry, and the redactor that every sink passes.
//!
//! [`logs`] sets up what a process says on stderr; [`otel`] sends spans, metrics and log records to a collector where
//! one is named; [`redact()`] keeps keys out of all that leaves the process.

pub mod logs;
pub mod otel;
pub mod redact;

pub use redact::{Redactor, redact, register};
