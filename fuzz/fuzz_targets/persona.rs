//! Reads arbitrary bytes as persona files.

#![no_main]

use scenario::persona::Library;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(text) = gabfest_fuzz::text(bytes, "x.persona.yaml") else { return };
    if let Ok(document) = yaml::open(&text, "x.persona.yaml") {
        let _ = formats::persona::read(&mut document.clone(), &mut scenario::format::NoFiles, &mut Library::default());
    }
});
