//! Reads arbitrary bytes as expected conversations.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gabfest_fuzz::read(formats::line::FORMAT, bytes, "x.conversation.yaml"));
