//! Reads arbitrary bytes as matrices.

#![no_main]

use formats::matrix;
use scenario::Diagnostic;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(text) = gabfest_fuzz::text(bytes, "x.matrix.yaml") else { return };
    if let Ok(document) = yaml::open(&text, "x.matrix.yaml") {
        let (matrix, findings) = matrix::read(&document);
        assert!(matrix.is_some() || findings.iter().any(Diagnostic::is_error));
    }
});
