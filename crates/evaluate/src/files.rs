//! Reads the files of a trial for the checks of files.

use record::FailureKind;

use crate::{outcome::Outcome, subject::Workspace};

/// Tries the path as written, then with or without a leading `./`, because captured files can have either name.
pub(crate) async fn read(workspace: &dyn Workspace, path: &str) -> Result<Option<String>, String> {
    if let Some(text) = workspace.file(path).await? {
        return Ok(Some(text));
    }
    match path.strip_prefix("./") {
        Some(bare) => workspace.file(bare).await,
        None if path.starts_with('/') => Ok(None),
        None => workspace.file(&format!("./{path}")).await,
    }
}

pub(crate) fn refused(path: &str, message: &str) -> Outcome {
    Outcome::error(FailureKind::Misconfigured, format!("cannot look at {path:?}: {message}"))
}
