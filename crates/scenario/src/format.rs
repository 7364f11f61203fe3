//! The interface of a format of scenario files. The crate `formats` has one folder for each.
//!
//! A plan keeps documents, not scenarios. So the plan needs the format again: to see a document's axes, and to read the
//! document of each case.

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
    /// Its name in plans and reports. It never changes, because stored plans have it.
    fn name(&self) -> &'static str;

    /// The endings of its files' names.
    fn endings(&self) -> &'static [&'static str];

    /// Endings of files that count only if the user names the file itself, not its folder.
    fn loose_endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a file in a folder has this format although its name has another ending. Reading the `text` takes time:
    /// call it only if the name is not enough.
    fn recognizes(&self, _name: &str, _text: &mut dyn FnMut() -> Option<String>) -> bool {
        false
    }

    /// The largest file that is read.
    fn max_bytes(&self) -> usize {
        yaml::MAX_BYTES
    }

    /// Opens the text of a file: one document for each scenario in it. The plan carries documents, and parameters and
    /// `--set` change them, before [`Format::translate`] turns them into scenarios.
    fn open_beside(&self, text: &str, path: &str, _files: &mut dyn Files) -> (Vec<Document>, Vec<Diagnostic>) {
        match yaml::open(text, path) {
            Ok(document) => (vec![document], Vec::new()),
            Err(diagnostic) => (Vec::new(), vec![diagnostic]),
        }
    }

    /// The report about a file that the user named and that has no scenario. `None`: opening it has reported it.
    fn nothing_found(&self, _text: &str, _path: &str) -> Option<Diagnostic> {
        None
    }

    /// Replaces the names of other files with their texts: workers do not see the user's files.
    fn put_files_in(&self, _document: &mut Document, _files: &mut dyn Files, _findings: &mut Findings) {}

    /// Whether its documents have `gabfest: {vars, include, data}` and placeholders such as `${vars.x}`.
    fn has_placeholders(&self) -> bool {
        false
    }

    /// The document's own axes, unless a matrix or the caller has an axis over the same parameter. A format with many
    /// scenarios of one shape keeps them as one document.
    fn axes(&self, _document: &Document) -> Vec<Axis> {
        Vec::new()
    }

    /// Agents of the settings that a document needs in addition to the tested one.
    fn agents<'a>(&self, _document: &'a Value) -> Option<&'a str> {
        None
    }

    /// Turns a document into a scenario. The findings are in the order of the lines; if one is an error, there is no
    /// scenario. Callers use [`read`](trait.Format.html#method.read), which also refuses misspelt checks.
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

    /// Turns a document into a scenario. The findings are in the order of the lines; if one is an error, there is no
    /// scenario.
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
