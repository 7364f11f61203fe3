//! Matrices of any bytes.

#![no_main]

use scenario::{Diagnostic, matrix, yaml};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = yaml::open(&String::from_utf8_lossy(bytes), "x.matrix.yaml") {
        let (matrix, findings) = matrix::read(&document);
        assert!(matrix.is_some() || findings.iter().any(Diagnostic::is_error));
    }
});
