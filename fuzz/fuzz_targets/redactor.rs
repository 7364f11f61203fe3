//! Redacts arbitrary texts with secrets in them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    redact::fuzzing::redactor(text);
});
