//! The contract of every store, tested on each of them; and what only the one on disk can break.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod audits;
mod conformance;
mod disk;
mod model;
mod proxy;
mod samples;
mod server;
mod stand;
