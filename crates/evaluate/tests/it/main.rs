//! Evaluators as a worker uses them: rows of (check, what happened, judgment).
#![expect(
    clippy::unwrap_used,
    reason = "in a test, what cannot be unwrapped is the failure that it reports, and skips are said aloud"
)]

mod assertions;
mod definitions;
mod docs;
mod edges;
mod expected_turns;
mod facts;
mod fakes;
mod injection;
mod judges;
mod messages;
mod rows;
mod scores;
mod skunit;
