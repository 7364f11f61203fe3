//! Reads arbitrary bytes as answers of chat servers in each dialect.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| llm::fuzzing::answer(bytes));
