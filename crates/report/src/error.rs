//! Errors while a report is rendered.

use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk is full, or the place cannot be written.
    #[error("write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("fill a template of report.html")]
    Html(#[from] minijinja::Error),
    #[error("write junit.xml")]
    Junit(#[from] quick_junit::SerializeError),
    #[error("write a workbook")]
    Workbook(#[from] rust_xlsxwriter::XlsxError),
}
