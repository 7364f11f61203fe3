//! Why a model of the shelf cannot be used.

use crate::shelf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Shelf(#[from] shelf::Error),
    #[error("there is no model {name:?} in {folder}")]
    Absent { name: String, folder: String },
    #[error("{0}")]
    Unusable(String),
}

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        // It includes a long backtrace; the first line has the reason.
        Self::Unusable(error.to_string().lines().next().unwrap_or_default().to_owned())
    }
}

impl From<tokenizers::Error> for Error {
    fn from(error: tokenizers::Error) -> Self {
        Self::Unusable(error.to_string())
    }
}
