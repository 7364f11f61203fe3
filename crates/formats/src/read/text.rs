//! The text of one file, and its name: the displayed one, and the unique one.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::encoding;
use yaml::Diagnostic;

/// The text of a file, or of the standard input (`-`), up to a size limit, with a warning if it is not UTF-8.
///
/// # Errors
/// It cannot be read, is too large, or is not text.
pub fn text_of(path: &Path, max_bytes: usize) -> Result<(String, Option<Diagnostic>), Diagnostic> {
    let unreadable = |error: std::io::Error| Diagnostic::error(shown(path), 0, 0, format!("cannot be read: {error}"));
    let (file, size): (Box<dyn std::io::Read>, u64) = if is_stdin(path) {
        (Box::new(std::io::stdin().lock()), 0)
    } else {
        let file = fs::File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        (Box::new(file), size)
    };
    let mut bytes = Vec::new();
    if size <= max_bytes as u64 {
        // The file may grow while it is being read.
        file.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    let size = size.max(bytes.len() as u64);
    if size > max_bytes as u64 {
        return Err(yaml::too_large(size, max_bytes, &shown(path)));
    }
    encoding::decode(bytes, &shown(path))
}

/// The text of a file that a scenario names, somewhere below `root`. The error is a fragment that fits behind its name.
pub(super) fn text_beside(scenario: &Path, root: &Path, name: &str) -> Result<String, String> {
    let folder = real_folder(scenario.parent().unwrap_or(Path::new("")));
    let path = fs::canonicalize(folder.join(name)).map_err(|error| format!("cannot be read: {error}"))?;
    // A scenario from elsewhere must not send just any file of this machine away.
    if !path.starts_with(real_folder(root)) {
        return Err(outside(root));
    }
    text_of(&path, yaml::MAX_BYTES).map(|(text, _)| text).map_err(|diagnostic| diagnostic.message)
}

/// The message about a file that may not be read, to follow its name.
pub(super) fn outside(root: &Path) -> String {
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    format!("is outside of the folder `{}`: name a folder that contains both files", shown(root))
}

/// `-`, which is read as questions and answers: other formats need files.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// A path as diagnostics show it.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// A folder without links and `..`; the empty path is the current one.
pub(super) fn real_folder(folder: &Path) -> PathBuf {
    real(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

/// The path without links and `..`, so that one file has one name.
pub(super) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
