//! What a language of scenario files must do. The crate `formats` has one folder for each.
//!
//! A plan keeps documents, not scenarios. So the plan needs the format again: to see what a document is multiplied by,
//! and to read the document of each case.

mod checked;
mod files;
mod script;

use std::fmt;

use serde_json::Value;

use yaml::{Diagnostic, Document, Findings};

use crate::{placeholder, plan::Axis};

pub use files::{Files, NoFiles, TextFile};
pub use script::Script;

/// A language of scenario files: how a file is recognised, opened and read.
pub trait Format: fmt::Debug + Sync {
    /// The word for it in plans and reports. It never changes: stored plans hold it.
    fn name(&self) -> &'static str;

    /// How the names of its files end.
    fn endings(&self) -> &'static [&'static str];

    /// How the names of files end that are its files only where the user names the file itself, not a folder.
    fn loose_endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a file in a folder is one of its files although its name does not end so. Reading the `text` costs time:
    /// call it only where the name leaves doubt.
    fn recognizes(&self, _name: &str, _text: &mut dyn FnMut() -> Option<String>) -> bool {
        false
    }

    /// The largest file that is read.
    fn max_bytes(&self) -> usize {
        yaml::MAX_BYTES
    }

    /// Opens the text of a file: one document for each scenario in it. A document is what the plan carries, and what
    /// parameters and `--set` change, before [`Format::translate`] makes the scenario of it.
    fn open_beside(&self, text: &str, path: &str, _files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
        match yaml::open(text, path) {
            Ok(document) => (vec![document], Vec::new()),
            Err(diagnostic) => (Vec::new(), vec![diagnostic]),
        }
    }

    /// What to report about a file that the user named and that holds no scenario. `None`: opening it has reported it.
    fn nothing_found(&self, _text: &str, _path: &str) -> Option<Diagnostic> {
        None
    }

    /// Replaces the names of other files with their texts: workers do not see the user's files.
    fn put_files_in(&self, _document: &mut Document, _files: &mut dyn Files, _findings: &mut Findings) {}

    /// Whether its documents have `gabfest: {vars, include, data}` and placeholders such as `${vars.x}`.
    fn has_placeholders(&self) -> bool {
        false
    }

    /// What a document is multiplied by, unless a matrix or the caller has an axis over the same parameter. A format
    /// with many scenarios of one shape keeps them as one document.
    fn axes(&self, _document: &Document) -> Vec<Axis> {
        Vec::new()
    }

    /// Agents of the settings that a document needs beside the one under test.
    fn agents<'a>(&self, _document: &'a Value) -> Option<&'a str> {
        None
    }

    /// Turns a document into a scenario. The findings are in the order of the lines; with an error among them there is
    /// no scenario. Callers use [`read`](trait.Format.html#method.read), which also refuses misspelt checks.
    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>);

    /// The JSON Schema of its documents.
    fn schema(&self) -> Value;
}

/// The name of a file without its folder and without an ending of the format.
#[must_use]
pub fn stem<'a>(path: &'a str, format: &dyn Format) -> &'a str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut endings = format.endings().iter().chain(format.loose_endings());
    endings.find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

impl dyn Format + '_ {
    /// [`Format::open_beside`] for a text that names no other files.
    #[must_use]
    pub fn open(&self, text: &str, path: &str) -> (Vec<Document>, Vec<Diagnostic>) {
        self.open_beside(text, path, &mut NoFiles)
    }

    /// Turns a document into a scenario. The findings are in the order of the lines; with an error among them there is
    /// no scenario.
    #[must_use]
    pub fn read(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let replaced = if self.has_placeholders() { placeholder::replace_variables(document) } else { None };
        let (script, findings) = match replaced {
            Some((document, faults)) if faults.is_empty() => self.translate(&document),
            Some((document, faults)) => {
                let mut findings = Findings::of(&document);
                placeholder::report(faults, &document, &mut findings);
                (None, findings.into_sorted())
            }
            None => self.translate(document),
        };
        checked::refuse_misspelt_checks(script, findings)
    }
}
