//! The coordinator as workers and people meet it: real gRPC over in-memory pipes, the store in memory, a paused
//! clock, and workers that say exactly what a test wants them to say.

#![expect(clippy::unwrap_used, reason = "what is unwrapped here is what the tests expect")]

mod breaking_store;
mod fake_worker;
mod faults;
mod plans;
mod protocol;
mod runs;
mod served;
