//! SkUnit scenarios in Markdown.

use serde_json::{Value, json};

use super::Script;
use crate::{Diagnostic, yaml::Document};

pub(super) fn open(_text: &str, path: &str) -> (Vec<Document>, Vec<Diagnostic>) {
    (Vec::new(), vec![Diagnostic::error(path, 1, 0, "this format is being built")])
}

pub(super) fn read(document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
    (None, vec![Diagnostic::error(&document.path, 1, 0, "this format is being built")])
}

pub(super) fn schema() -> Value {
    json!({})
}
