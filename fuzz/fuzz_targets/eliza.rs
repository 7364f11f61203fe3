//! Reads arbitrary bytes as ElizaOS scenarios.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(formats::eliza::FORMAT, bytes, "x.scenario.yaml"));
