//! What every store promises, tried on each of them; and what only the one on a disk can break.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod conformance;
mod disk;
mod model;
mod samples;
mod stand;
