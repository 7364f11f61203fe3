//! A table that grows row by row, over as many files as it needs.

use parquet::schema::types::TypePtr;

use crate::{
    Error,
    buffer::Buffer,
    file::{Open, Whole},
    schema::{Column, schema},
    value::Value,
};

/// A row group has at most so many rows.
const GROUP_ROWS: usize = 122_880;

/// How much of a table may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Of rows in memory; then they become a row group.
    pub(crate) group_bytes: usize,
    /// Of a file; then the next one begins.
    pub(crate) file_bytes: usize,
}

impl Bounds {
    pub(crate) const USUAL: Self = Self { group_bytes: 16 << 20, file_bytes: 128 << 20 };
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    schema: TypePtr,
    bounds: Bounds,
    rows: Buffer,
    file: Option<Open>,
    /// Written, and not uploaded yet.
    pub(crate) whole: Vec<Whole>,
}

impl Table {
    pub(crate) fn new(name: &'static str, columns: &[Column], bounds: Bounds) -> Result<Self, Error> {
        Ok(Self {
            name,
            schema: schema(name, columns)?,
            bounds,
            rows: Buffer::of(columns),
            file: None,
            whole: Vec::new(),
        })
    }

    pub(crate) fn push(&mut self, row: Vec<Value>) -> Result<(), Error> {
        self.rows.push(row);
        if self.rows.rows() >= GROUP_ROWS || self.rows.bytes() >= self.bounds.group_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => Open::create(&self.schema)?,
        };
        file.write(&mut self.rows)?;
        if file.bytes() >= self.bounds.file_bytes {
            self.whole.push(file.close()?);
        } else {
            self.file = Some(file);
        }
        Ok(())
    }

    /// Ends the last file. A table without rows has a file too, so that readers find its columns.
    pub(crate) fn finish(&mut self, is_empty: bool) -> Result<(), Error> {
        if self.rows.rows() > 0 || (is_empty && self.file.is_none() && self.whole.is_empty()) {
            self.flush()?;
        }
        if let Some(file) = self.file.take() {
            self.whole.push(file.close()?);
        }
        Ok(())
    }
}
