//! The coordinator as workers and people see it: real gRPC over in-memory pipes, the in-memory store, a paused clock,
//! and workers that send exactly what a test wants.

#![expect(clippy::unwrap_used, reason = "what is unwrapped here is what the tests expect")]

mod breaking_store;
mod control;
mod decide;
mod fake_worker;
mod faults;
mod in_process;
mod plans;
mod protocol;
mod relays;
mod runs;
mod served;
