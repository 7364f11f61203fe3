//! Shared by the fuzz targets: reads bytes like a file.

use scenario::{Diagnostic, Format};
use formats::encoding;

/// Decodes bytes like the content of a file; `None` if they are not text.
pub fn text(bytes: &[u8], path: &str) -> Option<String> {
    encoding::decode(bytes.to_vec(), path).ok().map(|(text, _)| text)
}

/// Reads every scenario of a file. A scenario that is not there must have been explained.
pub fn read(format: &dyn Format, bytes: &[u8], path: &str) {
    let Some(text) = text(bytes, path) else { return };
    let (documents, _) = format.open(&text, path);
    for document in &documents {
        let (script, findings) = format.read(document);
        assert!(script.is_some() || findings.iter().any(Diagnostic::is_error));
        // The processing of a plan before a run.
        for axis in format.axes(document) {
            assert!(!axis.values.is_empty());
        }
    }
}
