//! Reads arbitrary bytes as skUnit pages.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(formats::skunit::FORMAT, bytes, "x.skunit.md"));
