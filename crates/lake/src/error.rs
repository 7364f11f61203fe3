//! What can go wrong with an export.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place of an export is not written as one.
    #[error("{0}")]
    Place(String),
    /// The place holds the export of another run.
    #[error("{place} holds the export of run {run}")]
    Taken { place: String, run: String },
    /// The place holds something that is no export of this version.
    #[error("{place} has a {name} that is not one of an export: {reason}", name = crate::MANIFEST)]
    Manifest { place: String, reason: String },
    #[error("failed to reach {place}: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("failed to write a temporary file: {0}")]
    Temporary(#[from] std::io::Error),
    #[error("failed to encode a table: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}
