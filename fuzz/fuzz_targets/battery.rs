//! Reads arbitrary bytes as batteries.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(formats::battery::FORMAT, bytes, "x.battery.yaml"));
