//! Why the coordinator rejected a request.

use record::summary::RunState;
use scenario::RunId;

use crate::aggregate;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("session {0} is over")]
    SessionOver(u64),
    #[error("session {0} belongs to another worker")]
    NotYours(u64),
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    #[error("run {run} is {}", format!("{state:?}").to_lowercase())]
    NotResumable { run: RunId, state: RunState },
    /// The request cannot be used.
    #[error("{0}")]
    Refused(String),
    #[error("the coordinator has stopped")]
    Stopped,
    #[error(transparent)]
    Read(#[from] aggregate::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Read(error.into())
    }
}
