//! Evaluators as a worker uses them: rows of (check, what happened, judgment).
#![expect(
    clippy::unwrap_used,
    reason = "in a test, what cannot be unwrapped is the failure that it reports, and skips are printed"
)]

mod assertions;
mod capabilities;
mod definitions;
mod docs;
mod earlier_votes;
mod edges;
mod expected_turns;
mod facts;
mod fakes;
mod injection;
mod judge_gate;
mod judges;
mod material;
mod messages;
mod rows;
mod scores;
mod skunit;
