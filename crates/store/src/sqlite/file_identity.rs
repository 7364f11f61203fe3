//! Checks that the store's file was not removed or replaced: SQLite would keep writing to a file that can no longer be opened.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::Error;

#[derive(Debug, Clone)]
pub(super) struct FileIdentity {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl FileIdentity {
    /// The place of an existing file.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let file = identity(path).map_err(|error| Error::Unwritable(format!("{}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Fails if the file was removed or replaced.
    pub(super) fn check(&self) -> Result<(), Error> {
        match identity(&self.path) {
            Ok(file) if file != self.file => Err(Error::Gone(format!("{} was replaced", self.path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::Gone(format!("{} was removed", self.path.display())))
            }
            // A file with unreadable metadata may still exist.
            _ => Ok(()),
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
