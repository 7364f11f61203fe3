//! A file that appears only when it is complete: it is written under another name, then renamed.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::Error;

/// A line of a trial is often a page long: many of them go with one call of the system.
const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct PartFile {
    file: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl PartFile {
    pub(crate) fn create(dir: &Path, name: &str) -> Result<Self, Error> {
        let path = dir.join(name);
        let part = dir.join(format!(".{name}.part"));
        match File::create(&part) {
            Ok(file) => Ok(Self { file: BufWriter::with_capacity(BUFFER_BYTES, file), part, path, finished: false }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    pub(crate) fn write(&mut self, text: &str) -> Result<(), Error> {
        self.write_bytes(text.as_bytes())
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|source| self.error(source))
    }

    /// Its final path.
    pub(crate) fn finish(mut self) -> Result<PathBuf, Error> {
        let finish = |this: &mut Self| {
            this.file.flush()?;
            // Some file systems report a full disk only here.
            this.file.get_ref().sync_all()?;
            fs::rename(&this.part, &this.path)
        };
        finish(&mut self).map_err(|source| self.error(source))?;
        self.finished = true;
        Ok(self.path.clone())
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.finished {
            // The caller reports the error that led here; a part that cannot be removed is harmless.
            let _ = fs::remove_file(&self.part);
        }
    }
}
