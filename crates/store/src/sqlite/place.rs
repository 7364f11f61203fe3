//! Which file the store is. SQLite goes on with a file that somebody has removed, and nobody finds again what it writes there.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::Error;

#[derive(Debug, Clone)]
pub(super) struct Place {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl Place {
    /// Of a file that is there.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let file = identity(path).map_err(|error| Error::Unwritable(format!("{}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Whether the file is still at its place.
    pub(super) fn check(&self) -> Result<(), Error> {
        match identity(&self.path) {
            Ok(file) if file != self.file => Err(Error::Gone(format!("{} was replaced", self.path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::Gone(format!("{} was removed", self.path.display())))
            }
            // What cannot be looked at may well be there.
            _ => Ok(()),
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
