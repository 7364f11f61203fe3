//! The binary as a user meets it: whole processes, real sockets, real files. And the whole path in one process.
#![expect(clippy::unwrap_used, reason = "tests and their helpers: a panic is the finding")]

mod address_keys;
mod agents;
mod bad_input;
mod calibration;
mod cases;
mod convert;
mod cost_by_hand;
mod custom_checks;
mod descriptors;
mod dialects;
mod doors;
mod downloads;
mod first_run;
mod fleet;
mod hostile;
mod interrupts;
mod judge_gate;
mod judges;
mod kill_and_resume;
mod killed_at_once;
mod metrics;
mod one_process;
mod probes;
mod process;
mod qnamaker;
mod replays;
mod reports;
mod scores;
mod secrets;
mod server;
mod settings_vetting;
mod skunit_log;
mod stateful;
mod steering;
mod telemetry;
mod tokens;
mod tools;
mod tutorial;
mod unreadable;
mod validate;
#[cfg(feature = "candle")]
mod weights;
