//! Reads arbitrary texts as judges' answers.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = str::from_utf8(bytes) {
        evaluate::fuzzing::judge(answer);
    }
});
