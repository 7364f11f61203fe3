//! The files that a knowledge base may name: only those below a folder.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use super::text::{outside, real_folder, shown, text_beside, text_of};
use crate::qna;
use scenario::format::{Files, TextFile};

/// Folders deeper than this are not looked into; links to folders never are.
pub(super) const MAX_FOLDERS: usize = 64;

/// The files below a folder, for files that name them.
#[derive(Debug)]
pub struct Beside {
    /// As the user named it.
    folder: PathBuf,
    real: PathBuf,
    files: Vec<TextFile>,
}

impl Beside {
    /// The files in a file's folder and below.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        Self::below(file.parent().unwrap_or(Path::new("")))
    }

    /// The files below a folder. The paths of files that name them are below it too.
    pub(super) fn below(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), real: real_folder(folder), files: Vec::new() }
    }

    fn add(&mut self, path: &Path) -> Result<(), String> {
        let path = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
        // A file from elsewhere must not show just any file of this machine.
        let Ok(below) = path.strip_prefix(&self.real) else {
            return Err(outside(&self.folder));
        };
        let name = self.folder.join(below);
        let (text, warning) = text_of(&path, qna::FORMAT.max_bytes()).map_err(|diagnostic| diagnostic.message)?;
        self.files.push(TextFile { path: shown(&name), text, warning });
        Ok(())
    }

    fn walk(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut entries = entries.map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(unreadable)?;
            let is_ours = entry.path().extension().is_some_and(|ending| ending == "qna" || ending == "lu");
            if kind.is_file() && is_ours {
                self.add(&entry.path())?;
            } else if kind.is_dir() && depth > 0 {
                self.walk(&entry.path(), depth - 1)?;
            }
        }
        Ok(())
    }
}

impl Files for Beside {
    fn text(&mut self, from: &str, name: &str) -> Result<String, String> {
        text_beside(Path::new(from), &self.folder, name)
    }

    fn open(&mut self, from: &str, name: &str) -> Result<(File, String), String> {
        let below = Path::new(from).strip_prefix(&self.folder).unwrap_or(Path::new(from));
        let folder = self.real.join(below.parent().unwrap_or(Path::new("")));
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let path = fs::canonicalize(folder.join(name)).map_err(unreadable)?;
        let Ok(below) = path.strip_prefix(&self.real) else { return Err(outside(&self.folder)) };
        let file = File::open(&path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err("is not a file".to_owned());
        }
        Ok((file, shown(&self.folder.join(below))))
    }

    fn variable(&mut self, name: &str) -> Result<String, String> {
        std::env::var(name).map_err(|error| match error {
            std::env::VarError::NotPresent => "is not set".to_owned(),
            std::env::VarError::NotUnicode(_) => "is not text".to_owned(),
        })
    }

    fn read(&mut self, from: &str, target: &str) -> Result<Vec<TextFile>, String> {
        let below = Path::new(from).strip_prefix(&self.folder).unwrap_or(Path::new(from));
        let folder = self.real.join(below.parent().unwrap_or(Path::new("")));
        let target = target.replace('\\', "/");
        match target
            .strip_suffix("**")
            .map(|rest| (rest, MAX_FOLDERS))
            .or(target.strip_suffix('*').map(|rest| (rest, 0)))
        {
            Some((rest, depth)) => {
                let folder = fs::canonicalize(folder.join(rest)).map_err(|error| format!("cannot be read: {error}"))?;
                if !folder.starts_with(&self.real) {
                    return Err(outside(&self.folder));
                }
                self.walk(&folder, depth)?;
            }
            None => self.add(&folder.join(target))?,
        }
        Ok(std::mem::take(&mut self.files))
    }
}
