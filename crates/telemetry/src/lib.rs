//! Logs, and the redactor that every sink passes.
//!
//! [`logs`] sets up what a process says about itself on stderr; [`redact()`] keeps keys out of that and out of
//! everything else that leaves the process.

pub mod logs;
pub mod redact;

pub use redact::{Redactor, redact, register};
