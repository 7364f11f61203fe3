//! One example of a format: the text, and how it is read.

use scenario::Format;

/// Examples for the same place in a file.
pub(super) struct Group {
    /// Its name in the template.
    pub(super) name: &'static str,
    pub(super) format: &'static dyn Format,
    /// The name of the file, which may determine the kind.
    pub(super) file: &'static str,
    /// The language of an example's fence.
    pub(super) fence: &'static str,
    /// The whole file; the example takes the place of `ROW`.
    pub(super) frame: &'static str,
    /// Findings that every example has and that are not shown.
    pub(super) hides: &'static [&'static str],
    pub(super) rows: &'static [Row],
}

pub(super) struct Row {
    pub(super) says: &'static str,
    pub(super) written: &'static str,
    pub(super) outcome: Outcome,
    /// What the tool that owns the format does instead, and why gabfest does not.
    pub(super) there: Option<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There are no findings.
    Fine,
    /// It is read, with a warning.
    Warned,
    /// It is an error.
    Refused,
}

pub(super) const fn fine(says: &'static str, written: &'static str) -> Row {
    Row { says, written, outcome: Outcome::Fine, there: None }
}

pub(super) const fn warned(says: &'static str, written: &'static str) -> Row {
    Row { says, written, outcome: Outcome::Warned, there: None }
}

pub(super) const fn refused(says: &'static str, written: &'static str) -> Row {
    Row { says, written, outcome: Outcome::Refused, there: None }
}

impl Row {
    /// A deliberate difference: what the other tool does, and why gabfest does not.
    pub(super) const fn unlike(self, there: &'static str, why: &'static str) -> Self {
        Self { there: Some((there, why)), ..self }
    }
}
