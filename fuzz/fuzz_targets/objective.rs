//! Reads arbitrary bytes as objectives. What is read is written in a form that reads the same.

#![no_main]

use scenario::Objective;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Objective::read(text) {
        Ok(objective) => assert_eq!(Objective::read(&objective.to_string()), Ok(objective)),
        Err(fault) => assert!(fault.column >= 1 && fault.column <= text.chars().count() + 1),
    }
});
