//! The binary as a user meets it: whole processes, real sockets, real files. And the whole path in one process.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests and their helpers: a panic is the finding, and skips are said aloud"
)]

mod agents;
mod bad_input;
mod cases;
mod first_run;
mod fleet;
mod interrupts;
mod kill_and_resume;
mod metrics;
mod one_process;
mod process;
mod qnamaker;
mod scores;
mod telemetry;
mod tools;
mod validate;
