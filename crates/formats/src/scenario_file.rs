//! A document that was read, as plans take it.

use std::collections::BTreeMap;

use scenario::{Diagnostic, Format, ScenarioFile};
use yaml::Document;

use crate::all::without_ending;

/// Reads a document as if the user had named its file.
#[must_use]
pub fn scenario_file(format: &'static dyn Format, document: Document) -> (Option<ScenarioFile>, Vec<Diagnostic>) {
    let (script, diagnostics) = format.read(&document);
    let name = document.path.rsplit('/').next().unwrap_or(&document.path);
    let stem = without_ending(name).to_owned();
    let file = script.map(|script| ScenarioFile {
        document,
        format,
        stem,
        script,
        rows: None,
        environment: BTreeMap::new(),
        named: true,
        is_base: false,
    });
    (file, diagnostics)
}
