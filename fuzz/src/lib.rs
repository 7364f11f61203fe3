//! What the fuzz targets share: a text is opened and read as a file would be.

use scenario::{Diagnostic, Format};

/// Reads every scenario of a text. A scenario that is not there must have been explained.
pub fn read(format: Format, bytes: &[u8], path: &str) {
    let (documents, _) = format.open(&String::from_utf8_lossy(bytes), path);
    for document in &documents {
        let (script, findings) = format.read(document);
        assert!(script.is_some() || findings.iter().any(Diagnostic::is_error));
        // What a plan does with it before anything is played.
        for axis in format.axes(document) {
            assert!(!axis.values.is_empty());
        }
    }
}
