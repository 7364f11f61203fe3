//! A finding about a scenario file: place, what was found, what was expected, and a hint.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// As the user named it.
    pub path: String,
    /// 1-based; 0 for a finding about the whole file.
    pub line: u32,
    /// 1-based, in characters; 0 for a finding about the whole line.
    pub column: u32,
    /// A lowercase fragment: what was found and what was expected.
    pub message: String,
    pub help: Option<String>,
    /// Set if it is about an unknown key.
    pub unknown_key: Option<UnknownKey>,
}

/// An unknown key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key that was probably meant, if one is similar.
    pub meant: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    Error,
}

impl Diagnostic {
    #[must_use]
    pub fn error(path: impl Into<String>, line: u32, column: u32, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.into(),
            line,
            column,
            message: message.into(),
            help: None,
            unknown_key: None,
        }
    }

    #[must_use]
    pub fn warning(path: impl Into<String>, line: u32, column: u32, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, column, message) }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Makes errors of all warnings, as `--strict` asks.
pub fn strict(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        diagnostic.severity = Severity::Error;
    }
}

impl fmt::Display for Diagnostic {
    /// One line, as compilers write it: `path:line:column: error: message`, without the parts that are not known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        if !self.path.is_empty() {
            write!(f, "{}:", self.path)?;
            for number in [self.line, self.column].into_iter().take_while(|number| *number > 0) {
                write!(f, "{number}:")?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{severity}: {}", self.message)
    }
}
