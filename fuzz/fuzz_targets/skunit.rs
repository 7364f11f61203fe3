//! skUnit pages of any bytes.

#![no_main]

use scenario::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(Format::Skunit, bytes, "x.skunit.md"));
