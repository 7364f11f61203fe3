//! `gabfest.include`: files whose keys a scenario takes.

use scenario::{
    format::{Files, TextFile},
    placeholder::{self, Kind},
};
use serde_json::Value;
use yaml::{Document, Findings, MAX_EXPANDED_BYTES};

use crate::environment;

/// How deep files may include each other.
const MAX_DEPTH: usize = 8;

/// Puts the texts of the files in that one document names.
type PutFilesIn = fn(&mut Document, &mut dyn Files, &mut Findings);

/// Merges the files that a document includes, and their includes, into it. Each of them first inserts the files that it
/// names, because paths are relative to the file in which they are written.
pub(crate) fn put_in(
    document: &mut Document,
    files: &mut dyn Files,
    findings: &mut Findings,
    put_files_in: PutFilesIn,
) {
    let mut including = Including { open: vec![document.path.clone()], bytes: 0, put_files_in };
    including.put_in(document, files, findings);
}

struct Including {
    /// The files on the path to the current one, the scenario first.
    open: Vec<String>,
    /// The bytes of all included files: a file may be included many times.
    bytes: u64,
    put_files_in: PutFilesIn,
}

impl Including {
    fn put_in(&mut self, document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
        (self.put_files_in)(document, files, findings);
        let mut others = Vec::new();
        let root = document.root();
        for part in root.get("gabfest").map_or_else(Vec::new, |ours| ours.items_of("include")) {
            let mut name = part.value().clone();
            let unset =
                placeholder::replace(&mut name, Kind::Environment, &mut |name| environment::look_up(name, files));
            if let Some(fault) = unset.into_iter().next() {
                findings.error(part.spot(), fault.message);
                continue;
            }
            let Value::String(name) = name else {
                findings.error(part.spot(), "expected the name of a file");
                continue;
            };
            match self.open(&document.path, &name, files, findings) {
                Ok(other) => others.push(other),
                Err(fault) => findings.error(part.spot(), format!("the included file `{name}` {fault}")),
            }
        }
        if let Some(Value::Object(ours)) = document.value.get_mut("gabfest") {
            ours.shift_remove("include");
        }
        // The first value stays, so later files are merged first to take precedence.
        for other in others.into_iter().rev().flatten() {
            document.include(other);
        }
    }

    /// `None`: the file has faults, which are reported.
    fn open(
        &mut self,
        from: &str,
        name: &str,
        files: &mut dyn Files,
        findings: &mut Findings,
    ) -> Result<Option<Document>, String> {
        if name.contains('*') {
            return Err("is not the name of one file".to_owned());
        }
        let found = files.read(from, name)?.into_iter().next();
        let TextFile { path, text, warning } = found.ok_or("does not exist")?;
        findings.extend_with(warning);
        if let Some(place) = self.open.iter().position(|open| *open == path) {
            return Err(match place + 1 == self.open.len() {
                true => "includes itself".to_owned(),
                false => format!("is already being included, by `{}`", self.open[self.open.len() - 1]),
            });
        }
        if self.open.len() > MAX_DEPTH {
            return Err(format!("is more than {MAX_DEPTH} files deep"));
        }
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        if self.bytes > MAX_EXPANDED_BYTES {
            return Err(format!("is too much: all included files together have more than {MAX_EXPANDED_BYTES} bytes"));
        }
        let mut document = match yaml::open(&text, &path) {
            Ok(document) => document,
            Err(fault) => {
                findings.extend_with(Some(fault));
                return Ok(None);
            }
        };
        let mut inner = Findings::new(&path);
        if !document.value.is_object() {
            inner.error(document.root().spot(), "expected a mapping with keys of a scenario");
        }
        self.open.push(path);
        self.put_in(&mut document, files, &mut inner);
        self.open.pop();
        let sound = !inner.has_errors();
        findings.extend(inner);
        Ok(sound.then_some(document))
    }
}
