//! `manifest.json`: which files an export has. It is written last.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Facts;

/// The name of the file.
pub const MANIFEST: &str = "manifest.json";
/// Raised when a column goes away or changes its meaning; new columns do not raise it.
pub(crate) const VERSION: u32 = 1;
pub(crate) const FORMAT: &str = "gabfest export";

/// An export. The same run gives the same manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: String,
    pub version: u32,
    pub run: Facts,
    /// By name.
    pub tables: BTreeMap<String, TableFiles>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableFiles {
    pub rows: u64,
    pub files: Vec<Part>,
}

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Beside the manifest: `trials/0f…3a.parquet`.
    pub path: String,
    /// Of its bytes, in hex. Its beginning is the file's name.
    pub sha256: String,
    pub bytes: u64,
    pub rows: u64,
}

impl Manifest {
    pub(crate) fn of(run: Facts) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, run, tables: BTreeMap::new() }
    }

    pub(crate) fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// All files, with their tables in alphabetical order.
    pub fn files(&self) -> impl Iterator<Item = &Part> {
        self.tables.values().flat_map(|table| &table.files)
    }
}
