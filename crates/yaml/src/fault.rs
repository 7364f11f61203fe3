//! A fault of a text, with its place.

use crate::{diagnostic::Diagnostic, place::Spot};

/// A fault of a text, with its place.
#[derive(Debug)]
pub(crate) struct Fault {
    spot: Spot,
    message: String,
    help: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(spot: Spot, message: impl Into<String>) -> Self {
        Self { spot, message: message.into(), help: None }
    }

    pub(crate) fn with_help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    pub(crate) fn into_diagnostic(self, path: &str) -> Diagnostic {
        let diagnostic = Diagnostic::error(path, self.spot.line, self.spot.column, self.message);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}
