//! The plan and what it asks, seen from outside.
#![expect(clippy::unwrap_used, reason = "tests and their helpers: a panic is the finding")]

mod asks;
mod bounds;
mod plans;
