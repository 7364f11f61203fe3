//! The folder that keeps models, one folder each, outside every project.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::catalogue::FILES;

/// A folder of models, which may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    folder: PathBuf,
}

/// A model on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub name: String,
    pub folder: PathBuf,
    /// Of the files that every model has.
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{name:?} cannot be the name of a model: use letters, digits, `-`, `_` and `.`")]
    Name { name: String },
    #[error("read the models in {}", folder.display())]
    Read { folder: PathBuf, source: io::Error },
}

impl Shelf {
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a model with this name, whether it exists or not.
    ///
    /// # Errors
    /// The name is invalid: it becomes part of a path.
    pub fn place(&self, name: &str) -> Result<PathBuf, Error> {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.chars().all(letter) {
            return Err(Error::Name { name: name.to_owned() });
        }
        Ok(self.folder.join(name))
    }

    /// The model with this name, if all its files are there.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn find(&self, name: &str) -> Result<Option<Kept>, Error> {
        let folder = self.place(name)?;
        let bytes = FILES.iter().map(|file| fs::metadata(folder.join(file)).ok().map(|found| found.len()));
        let bytes: Option<u64> = bytes.sum();
        Ok(bytes.map(|bytes| Kept { name: name.to_owned(), folder, bytes }))
    }

    /// All complete models, by name; none if there is no folder.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Kept>, Error> {
        let failed = |source| Error::Read { folder: self.folder.clone(), source };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut list = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            if let Some(name) = name.to_str() {
                // gabfest did not create folders whose name is not valid for a model.
                list.extend(self.find(name).ok().flatten());
            }
        }
        list.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(list)
    }
}
