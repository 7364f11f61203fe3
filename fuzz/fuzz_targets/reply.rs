//! Reads arbitrary bytes as replies of agents by HTTP, whole and as events.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent::fuzzing::reply(bytes));
