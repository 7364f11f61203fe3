//! Tests of the report's pages on hand-made runs.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic is how a test fails, and a skipped one must say so"
)]

mod base64;
mod battery;
mod browser;
mod compare;
mod folder;
mod hostile;
mod pages;
mod sample;
mod selection;
