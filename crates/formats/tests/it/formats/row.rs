//! One example of a format: what is written, and how it is read.

use scenario::Format;

/// Examples that stand in the same place of a file.
pub(super) struct Group {
    /// What the template calls it.
    pub(super) name: &'static str,
    pub(super) format: &'static dyn Format,
    /// The name of the file, which may tell the kind.
    pub(super) file: &'static str,
    /// What stands behind the fence of an example.
    pub(super) fence: &'static str,
    /// The whole file; the example takes the place of `ROW`.
    pub(super) frame: &'static str,
    /// What would be told of every example, and is the same for all.
    pub(super) hides: &'static [&'static str],
    pub(super) rows: &'static [Row],
}

pub(super) struct Row {
    pub(super) says: &'static str,
    pub(super) written: &'static str,
    pub(super) outcome: Outcome,
    /// What the tool that the format comes from does instead, and why gabfest does not.
    pub(super) there: Option<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is nothing to be said about it.
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
    /// A deliberate difference: what happens there, and the reason for not doing so.
    pub(super) const fn unlike(self, there: &'static str, why: &'static str) -> Self {
        Self { there: Some((there, why)), ..self }
    }
}
