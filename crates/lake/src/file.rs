//! One file of a table, written to a temporary place while its digest is made.

use std::io::{self, BufWriter, Write};

use parquet::{
    basic::{Compression, ZstdLevel},
    file::{
        properties::{WriterProperties, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::types::TypePtr,
};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::{Error, buffer::Buffer};

/// Level 3: half the size of 1 for texts of conversations is not reached by 9 either.
const LEVEL: i32 = 3;
/// Without a version: the same run gives the same bytes with the next gabfest.
const CREATED_BY: &str = "gabfest";

/// A file that is being written.
pub(crate) struct Open {
    writer: SerializedFileWriter<Digesting>,
    rows: u64,
}

/// A whole file, which disappears when it is dropped.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) file: NamedTempFile,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Open {
    pub(crate) fn create(schema: &TypePtr) -> Result<Self, Error> {
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_created_by(CREATED_BY.to_owned())
            .build();
        let file = Digesting { file: BufWriter::new(NamedTempFile::new()?), digest: Sha256::new(), bytes: 0 };
        let writer = SerializedFileWriter::new(file, schema.clone(), properties.into())?;
        Ok(Self { writer, rows: 0 })
    }

    /// Writes the rows as a row group.
    pub(crate) fn write(&mut self, rows: &mut Buffer) -> Result<(), Error> {
        self.rows += rows.rows() as u64;
        Ok(rows.write(&mut self.writer)?)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.writer.bytes_written()
    }

    pub(crate) fn close(self) -> Result<Whole, Error> {
        let Self { writer, rows } = self;
        let Digesting { file, digest, bytes } = writer.into_inner()?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Whole { file, sha256, bytes, rows })
    }
}

struct Digesting {
    file: BufWriter<NamedTempFile>,
    digest: Sha256,
    bytes: u64,
}

impl Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
