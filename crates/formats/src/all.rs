//! All formats. A new one is a folder in this crate and a line in this list.

use scenario::Format;

use crate::{battery, eliza, line, messages, qna, skunit};

/// In the order in which the names of files are compared with their endings.
pub const ALL: &[&dyn Format] =
    &[eliza::FORMAT, skunit::FORMAT, qna::FORMAT, line::FORMAT, battery::FORMAT, messages::FORMAT];

/// The format of the standard input.
pub(crate) const STANDARD_INPUT: &dyn Format = qna::FORMAT;

/// The format with this name in plans and reports.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.name() == name)
}

/// The format of a file by its name; `None` for files that are not scenarios.
#[must_use]
pub fn of_file(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.endings().iter().any(|ending| name.ends_with(ending)))
}

/// The format of a file that the user names directly. Its name may be less specific.
#[must_use]
pub fn of_named_file(name: &str) -> Option<&'static dyn Format> {
    let loose =
        || ALL.iter().copied().find(|format| format.loose_endings().iter().any(|ending| name.ends_with(ending)));
    of_file(name).or_else(loose)
}

/// The name of a file without the ending of its format.
#[must_use]
pub fn without_ending(name: &str) -> &str {
    let endings = ALL.iter().flat_map(|format| format.endings());
    let mut all = endings.chain(ALL.iter().flat_map(|format| format.loose_endings()));
    all.find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}
