//! Reads arbitrary bytes as knowledge bases and batch tables. A base without errors must survive a round trip.

#![no_main]

use scenario::{Diagnostic, format::NoFiles};
use formats::qna::{knowledge_base, write::write};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    gabfest_fuzz::read(formats::qna::FORMAT, bytes, "x.qna.tsv");
    gabfest_fuzz::read(formats::qna::FORMAT, bytes, "x.qna");
    let Some(text) = gabfest_fuzz::text(bytes, "x.qna") else { return };
    let read = knowledge_base(&text, "x.qna", &mut NoFiles);
    if read.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let again = knowledge_base(&write(&read.base), "x.qna", &mut NoFiles);
    assert_eq!(again.base, read.base);
});
