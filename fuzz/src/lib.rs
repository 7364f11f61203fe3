//! What the fuzz targets share: bytes become a text and are opened and read as a file would be.

use scenario::{Diagnostic, Format};
use formats::encoding;

/// The text of a file's bytes, by the way that every file takes; `None` where they are no text.
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
        // What a plan does with it before anything is played.
        for axis in format.axes(document) {
            assert!(!axis.values.is_empty());
        }
    }
}
