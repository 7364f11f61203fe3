//! Opens the text of a file: a checked document with the place of every value.
//!
//! The text is untrusted. Its size, its nesting and what its aliases would expand to are measured on the parser's
//! events, in one pass and in memory that does not grow with the expansion, before `serde_yaml` sees it: the guard of
//! `serde_yaml` is relative to the size of the file, and padding raises it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{diagnostic::Diagnostic, findings::Findings, guard, json, limits::MAX_BYTES, part::Part, place::Places};

/// A YAML document: its value as JSON, and where in the file each part of it stands.
#[derive(Debug, Clone)]
pub struct Document {
    /// As the user named it.
    pub path: String,
    pub value: Value,
    pub places: Places,
}

/// Parses and checks the text of a file.
///
/// # Errors
/// The text is too large, is not YAML, or holds what a document may not hold.
pub fn open(text: &str, path: &str) -> Result<Document, Diagnostic> {
    if text.len() > MAX_BYTES {
        return Err(too_large(text.len() as u64, MAX_BYTES, path));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = guard::survey(text).map_err(|fault| fault.into_diagnostic(path))?;
    let value = json::parse(text, &places).map_err(|fault| fault.into_diagnostic(path))?;
    Ok(Document { path: path.to_owned(), value, places })
}

/// Reads a file of one fixed shape, such as the settings. Findings are in the order of the lines.
#[must_use]
pub fn read<T: DeserializeOwned + JsonSchema + 'static>(text: &str, path: &str) -> (Option<T>, Vec<Diagnostic>) {
    match open(text, path) {
        Ok(document) => {
            let mut findings = Findings::new(path);
            let value = document.root().decode(&mut findings);
            (value, findings.into_sorted())
        }
        Err(diagnostic) => (None, vec![diagnostic]),
    }
}

impl Document {
    /// What a file of another language than YAML says, as its format lays it out.
    #[must_use]
    pub fn of_text(path: &str, value: Value, lines: &BTreeMap<String, u32>) -> Self {
        Self { path: path.to_owned(), value, places: Places::from_lines(lines) }
    }

    #[must_use]
    pub fn root(&self) -> Part<'_> {
        Part::root(&self.value, &self.places)
    }
}

/// The finding for a file that is not even opened.
#[must_use]
pub fn too_large(bytes: u64, max_bytes: usize, path: &str) -> Diagnostic {
    Diagnostic::error(path, 0, 0, format!("the file is {bytes} bytes; at most {max_bytes} are read"))
        .with_help("split it into several scenario files")
}
