//! Reads arbitrary bytes as events of AG-UI runs.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent::ag_ui::fuzzing::run(bytes));
