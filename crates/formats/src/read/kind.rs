//! The kind of a file by its name, or by its text if the name is ambiguous.
//!
//! The endings of the formats mark scenarios. Other kinds are `*.matrix.yaml`, `*.persona.yaml` (or `.yml`), and any
//! YAML in a folder called `personas`. Some files with other names are scenarios if the user names the file itself.

use std::path::Path;

use scenario::Format;

use super::text::text_of;
use crate::all::{ALL, of_file, of_named_file};

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Scenario(&'static dyn Format),
    Matrix,
    Persona,
}

/// Of a file by its name.
pub(super) fn by_name(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let ends = |kind: &str| [".yaml", ".yml"].iter().any(|ending| name.ends_with(&format!(".{kind}{ending}")));
    if let Some(format) = of_file(name) {
        return Some(Kind::Scenario(format));
    }
    if ends("matrix") {
        return Some(Kind::Matrix);
    }
    let in_library = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "personas");
    (ends("persona") || (in_library && is_yaml(path))).then_some(Kind::Persona)
}

/// Of a file in a folder that a format recognises as its own.
pub(super) fn by_content(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let is_one = |format: &&&dyn Format| {
        let mut text = || text_of(path, format.max_bytes()).ok().map(|(text, _)| text);
        format.recognizes(name, &mut text)
    };
    ALL.iter().find(is_one).map(|format| Kind::Scenario(*format))
}

/// Of a file that the user names himself.
pub(super) fn of_named(path: &Path) -> Option<Kind> {
    by_name(path).or_else(|| of_named_file(path.file_name()?.to_str()?).map(Kind::Scenario))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}
