//! The findings about one file.

use crate::{
    diagnostic::{Diagnostic, Severity, UnknownKey},
    place::Spot,
};

/// The findings about one file.
#[derive(Debug)]
pub struct Findings {
    path: String,
    list: Vec<Diagnostic>,
}

impl Findings {
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), list: Vec::new() }
    }

    pub fn error(&mut self, spot: Spot, message: impl Into<String>) {
        self.list.push(Diagnostic::error(&self.path, spot.line, spot.column, message));
    }

    pub fn warning(&mut self, spot: Spot, message: impl Into<String>) {
        self.list.push(Diagnostic::warning(&self.path, spot.line, spot.column, message));
    }

    /// A key that its place does not know.
    pub(crate) fn unknown_key(&mut self, severity: Severity, spot: Spot, key: &str, meant: Option<&str>) {
        let found = Diagnostic::error(&self.path, spot.line, spot.column, format!("unknown key `{key}`"));
        self.list.push(Diagnostic {
            severity,
            unknown_key: Some(UnknownKey { meant: meant.map(str::to_owned) }),
            ..found
        });
    }

    /// Adds a hint to the finding made last.
    pub fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.list.last_mut() {
            last.help = Some(help.into());
        }
    }

    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// In the order of the lines, each finding once.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
        self.list.dedup();
        self.list
    }
}
