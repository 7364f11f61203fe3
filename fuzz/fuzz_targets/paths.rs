//! Uses arbitrary texts as paths of a trial's files.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    worker::environment::fuzzing::paths(text);
});
