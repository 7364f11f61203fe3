//! Why the history cannot be read or written.

/// Each message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no history in {0}")]
    Missing(String),
    /// A file of another program, or of a newer gabfest.
    #[error("{file} {why}")]
    Foreign { file: String, why: &'static str },
    /// A row that this program cannot read.
    #[error("{file}: the run {run} cannot be read: {source}")]
    Row { file: String, run: String, source: serde_json::Error },
    #[error("{file}: {source}")]
    Failed { file: String, source: sqlx::Error },
    #[error("failed to make the folder of {file}: {source}")]
    Folder { file: String, source: std::io::Error },
}
