//! Files of personas of any bytes.

#![no_main]

use scenario::{persona::Library, yaml};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = yaml::open(&String::from_utf8_lossy(bytes), "x.persona.yaml") {
        let _ = Library::default().add(&document);
    }
});
