//! Reads arbitrary bytes as answers, cards and events of A2A agents.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent::a2a::fuzzing::task(bytes));
