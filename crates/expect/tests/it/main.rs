//! Expected conversations as a test of somebody's agent has them.
#![expect(clippy::unwrap_used, reason = "tests: a panic is the finding")]

mod agents;
mod answers;
mod fakes;
mod messages;
mod repeats;
