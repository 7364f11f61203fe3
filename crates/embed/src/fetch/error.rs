//! Why a model cannot be put on the shelf.

use std::{io, path::PathBuf};

use crate::shelf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Shelf(#[from] shelf::Error),
    #[error("{written:?} is neither an http(s) address nor a file or folder that is there")]
    Source { written: String },
    #[error("there is no known model {name:?}")]
    Unknown { name: String },
    #[error("download {file}: {message}")]
    Download { file: String, message: String },
    #[error("read the archive: {message}")]
    Archive { message: String },
    #[error("the archive has no file {file}, or several")]
    Absent { file: &'static str },
    #[error("{file} is longer than {limit} bytes")]
    TooLong { file: &'static str, limit: u64 },
    #[error("{file} has the wrong content: its sha256 is {found}, not {expected}")]
    Digest { file: &'static str, found: String, expected: String },
    #[error("write to {}", folder.display())]
    Write { folder: PathBuf, source: io::Error },
}
