//! Reads a file of labelled conversations, for `gabfest judge` and for sentinels.

use std::path::Path;

use anyhow::anyhow;
use evaluate::calibration::{self, Item};
use formats::read::text_of;
use scenario::Diagnostic;

use crate::{diagnostics, exit::usage};

/// The items, and the digest of their file. Faults are printed.
pub(crate) fn read(path: &Path) -> anyhow::Result<(Vec<Item>, String)> {
    let shown = path.to_string_lossy();
    let (items, found, digest) = match text_of(path, calibration::MAX_BYTES) {
        Err(fault) => (Vec::new(), vec![fault], String::new()),
        Ok((text, warning)) => {
            let (items, found) = calibration::read(&text, &shown);
            let digest = scenario::Digest::of(text.as_bytes()).as_str().to_owned();
            (items, warning.into_iter().chain(found).collect(), digest)
        }
    };
    diagnostics::print(&found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(usage(anyhow!("nothing was judged: {}", diagnostics::count(&found))));
    }
    Ok((items, digest))
}
