//! Expected conversations of any bytes.

#![no_main]

use scenario::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(Format::Line, bytes, "x.conversation.yaml"));
