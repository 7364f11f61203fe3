//! Tests of plans and their needs through the public interface.
#![expect(clippy::unwrap_used, reason = "tests and their helpers: a panic is the finding")]

mod asks;
mod bounds;
mod loads;
mod plans;
