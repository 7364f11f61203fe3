//! The findings about one file.

use crate::{
    Document,
    diagnostic::{Diagnostic, Severity, UnknownKey},
    document,
    place::Spot,
};

/// The findings about one file.
#[derive(Debug)]
pub struct Findings {
    path: String,
    /// The files that the document includes.
    included: Vec<String>,
    list: Vec<Diagnostic>,
}

impl Findings {
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), included: Vec::new(), list: Vec::new() }
    }

    /// For a document that may include other files: each finding names its own file.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        Self { included: document.included.clone(), ..Self::new(&document.path) }
    }

    pub fn error(&mut self, spot: Spot, message: impl Into<String>) {
        self.list.push(Diagnostic::error(self.path_of(spot), spot.line, spot.column, message));
    }

    pub fn warning(&mut self, spot: Spot, message: impl Into<String>) {
        self.list.push(Diagnostic::warning(self.path_of(spot), spot.line, spot.column, message));
    }

    /// Reports an unknown key.
    pub(crate) fn unknown_key(&mut self, severity: Severity, spot: Spot, key: &str, meant: Option<&str>) {
        let found = Diagnostic::error(self.path_of(spot), spot.line, spot.column, format!("unknown key `{key}`"));
        self.list.push(Diagnostic {
            severity,
            unknown_key: Some(UnknownKey { meant: meant.map(str::to_owned) }),
            ..found
        });
    }

    fn path_of(&self, spot: Spot) -> &str {
        document::path_of(&self.path, &self.included, spot)
    }

    /// Adds a hint to the finding made last.
    pub fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.list.last_mut() {
            last.help = Some(help.into());
        }
    }

    /// Takes over the findings about another file.
    pub fn extend(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Takes over a finding about another file.
    pub fn extend_with(&mut self, found: Option<Diagnostic>) {
        self.list.extend(found);
    }

    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// In the order of files and lines, without duplicates.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by(|a, b| (&a.path, a.line, a.column, &a.message).cmp(&(&b.path, b.line, b.column, &b.message)));
        self.list.dedup();
        self.list
    }
}
