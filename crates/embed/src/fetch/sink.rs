//! Writes a file of bounded size and computes its digest.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::error::Error;

/// The result of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub name: &'static str,
    pub bytes: u64,
    pub sha256: String,
}

pub(super) struct Sink {
    name: &'static str,
    folder: PathBuf,
    file: fs::File,
    digest: Sha256,
    bytes: u64,
    limit: u64,
}

impl Sink {
    pub(super) fn create(folder: &Path, name: &'static str, limit: u64) -> Result<Self, Error> {
        let file =
            fs::File::create(folder.join(name)).map_err(|source| Error::Write { folder: folder.to_owned(), source })?;
        Ok(Self { name, folder: folder.to_owned(), file, digest: Sha256::new(), bytes: 0, limit })
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.bytes += piece.len() as u64;
        if self.bytes > self.limit {
            return Err(Error::TooLong { file: self.name, limit: self.limit });
        }
        self.digest.update(piece);
        self.file.write_all(piece).map_err(|source| self.failed(source))
    }

    /// Everything that the reader gives.
    pub(super) fn take(mut self, mut reader: impl Read) -> Result<Checked, Error> {
        let mut piece = vec![0; 1 << 16];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return self.end(),
                Ok(count) => self.write(&piece[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A fault in the archive, which has checksums, or of its disk.
                Err(error) => return Err(Error::Archive { message: error.to_string() }),
            }
        }
    }

    pub(super) fn end(self) -> Result<Checked, Error> {
        self.file.sync_all().map_err(|source| self.failed(source))?;
        let sha256 = self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Checked { name: self.name, bytes: self.bytes, sha256 })
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { folder: self.folder.clone(), source }
    }
}
