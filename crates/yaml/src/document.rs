//! Opens the text of a file: a checked document with the place of every value.
//!
//! The text is untrusted. Its size, its nesting and what its aliases would expand to are measured on the parser's
//! events, in one pass and in memory that does not grow with the expansion, before `serde_yaml` sees it: the guard of
//! `serde_yaml` is relative to the size of the file, and padding raises it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    findings::Findings,
    guard, json,
    limits::MAX_BYTES,
    part::Part,
    place::{Places, Spot},
};

/// A YAML document: its value as JSON, and the place of each part in the file.
#[derive(Debug, Clone)]
pub struct Document {
    /// As the user named it.
    pub path: String,
    pub value: Value,
    pub places: Places,
    /// The files that were merged into it, as diagnostics show them.
    pub included: Vec<String>,
}

/// Parses and checks the text of a file.
///
/// # Errors
/// The text is too large, is not YAML, or has content that is not allowed.
pub fn open(text: &str, path: &str) -> Result<Document, Diagnostic> {
    if text.len() > MAX_BYTES {
        return Err(too_large(text.len() as u64, MAX_BYTES, path));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = guard::survey(text).map_err(|fault| fault.into_diagnostic(path))?;
    let value = json::parse(text, &places).map_err(|fault| fault.into_diagnostic(path))?;
    Ok(Document { path: path.to_owned(), value, places, included: Vec::new() })
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
    /// A document from a file in another language than YAML.
    #[must_use]
    pub fn of_text(path: &str, value: Value, lines: &BTreeMap<String, u32>) -> Self {
        Self { path: path.to_owned(), value, places: Places::from_lines(lines), included: Vec::new() }
    }

    /// Merges another document into this one: mappings merge, and any other value of this document stays. Places keep
    /// their own file.
    pub fn include(&mut self, other: Self) {
        let file = u16::try_from(self.included.len() + 1).unwrap_or(u16::MAX);
        self.places.include(&other.places, file);
        self.included.push(other.path);
        self.included.extend(other.included);
        merge(&mut self.value, other.value);
    }

    /// The file of a place.
    #[must_use]
    pub fn path_of(&self, spot: Spot) -> &str {
        path_of(&self.path, &self.included, spot)
    }

    #[must_use]
    pub fn root(&self) -> Part<'_> {
        Part::root(&self.value, &self.places)
    }
}

pub(crate) fn path_of<'a>(own: &'a str, included: &'a [String], spot: Spot) -> &'a str {
    let place = usize::from(spot.file).checked_sub(1);
    place.and_then(|place| included.get(place)).map_or(own, String::as_str)
}

fn merge(own: &mut Value, other: Value) {
    let (Value::Object(own), Value::Object(other)) = (own, other) else { return };
    for (key, value) in other {
        match own.get_mut(&key) {
            Some(own) => merge(own, value),
            None => _ = own.insert(key, value),
        }
    }
}

/// The finding for a file that is not even opened.
#[must_use]
pub fn too_large(bytes: u64, max_bytes: usize, path: &str) -> Diagnostic {
    Diagnostic::error(path, 0, 0, format!("the file is {bytes} bytes; at most {max_bytes} are read"))
        .with_help("split it into several scenario files")
}
