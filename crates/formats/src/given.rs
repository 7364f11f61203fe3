//! Outside values of a document: environment variables, and the rows of its data set.

use std::collections::BTreeMap;

use scenario::{
    Diagnostic, Format, Rows,
    format::{Files, Script},
    placeholder::{self, Kind},
};
use serde_json::Value;
use yaml::{
    Document, Findings,
    path::{Path, Segment},
};

use crate::{data, environment};

/// Outside values of a document.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) rows: Option<Rows>,
    pub(crate) environment: BTreeMap<String, String>,
    /// A part could not be had, so that the document cannot be read.
    failed: bool,
}

impl Given {
    pub(crate) fn of(document: &mut Document, format: &dyn Format, files: &mut dyn Files) -> (Self, Vec<Diagnostic>) {
        let mut findings = Findings::of(document);
        let environment = environment::of(document, files, &mut findings);
        refuse_in_names(document, &mut findings);
        let rows = data::take(document, &environment, format, files, &mut findings);
        let failed = findings.has_errors();
        (Self { rows, environment, failed }, findings.into_sorted())
    }

    /// Reads the document as the first of its cases, and checks that the other rows fit too.
    pub(crate) fn read(&self, document: &Document, format: &dyn Format) -> (Option<Script>, Vec<Diagnostic>) {
        if self.failed {
            return (None, Vec::new());
        }
        if self.rows.is_none() && self.environment.is_empty() {
            return format.read(document);
        }
        let mut first = document.clone();
        let row = self.rows.as_ref().and_then(|rows| Some((rows, rows.get(0)?)));
        let faults = row.as_ref().map_or_else(Vec::new, |(rows, row)| rows.fill(row, &mut first.value));
        placeholder::replace_environment(&mut first.value, &self.environment);
        if !faults.is_empty() {
            let mut findings = Findings::of(document);
            placeholder::report(faults, document, &mut findings);
            return (None, findings.into_sorted());
        }
        let (script, mut found) = format.read(&first);
        let Some((script, rows)) = script.as_ref().zip(self.rows.as_ref()) else { return (script, found) };
        found.extend(data::faults(rows, document, &self.environment, format));
        let sound = !found.iter().any(Diagnostic::is_error);
        (sound.then(|| script.clone()), found)
    }
}

/// A scenario's name, and everything decided for all its cases, is the same for all rows. The name is also the same at
/// each address, because ids are derived from it.
fn refuse_in_names(document: &Document, findings: &mut Findings) {
    let ours = ["tags", "weight", "required_pass_rate", "repeats", "personas"].map(|key| vec!["gabfest", key]);
    for keys in std::iter::once(vec!["name"]).chain(ours) {
        let path = Path(keys.iter().map(|key| Segment::Key((*key).to_owned())).collect());
        let Some(mut value) = path.find(&document.value).cloned() else { continue };
        let mut refuse = |_: &str| -> Result<Value, placeholder::Unknown> {
            Err((format!("`{path}` is the same for all cases"), Some("write the text itself".to_owned())))
        };
        let mut faults = placeholder::replace(&mut value, Kind::Row, &mut refuse);
        if keys == ["name"] {
            faults.extend(placeholder::replace(&mut value, Kind::Environment, &mut refuse));
        }
        for fault in faults {
            findings.error(document.root().nearest(&path).spot(), fault.message);
        }
    }
}
