//! Shows arbitrary texts on every kind of page.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    report::fuzzing::escapes(text);
});
