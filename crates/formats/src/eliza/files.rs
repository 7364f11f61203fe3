//! `setup.virtual_fs`: the initial files of a trial, all below its own root.

use std::collections::BTreeMap;

use serde_json::Value;

use scenario::trial_path::beneath_root;
use yaml::{Findings, Part};

/// Reads the mapping of paths to texts.
pub(super) fn read(part: &Part<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (written, content) in part.entries() {
        let spot = part.key_spot(written);
        let Value::String(text) = content.value() else {
            findings.error(content.spot(), format!("expected the text of the file `{written}`"));
            findings.help("put numbers, true, false and lists in quotes");
            continue;
        };
        match beneath_root(written) {
            Err(fault) => findings.error(spot, format!("`{written}` {fault}")),
            Ok(path) if files.contains_key(&path) => {
                findings.error(spot, format!("`{written}` is the file `{path}`, which exists already"));
            }
            Ok(path) => {
                files.insert(path, text.clone());
            }
        }
    }
    for path in files.keys() {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(folder) = folders.into_iter().find(|folder| files.contains_key(*folder)) {
            findings.error(part.spot(), format!("`{folder}` is a file, so gabfest cannot create `{path}`"));
        }
    }
    files
}
