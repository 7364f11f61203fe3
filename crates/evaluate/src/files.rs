//! `file_exists` and `file_contains`: what the trial left in its files.

use record::FailureKind;

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{Subject, Workspace},
};

#[derive(Debug)]
pub(crate) struct FileExists {
    pub(crate) path: String,
}

#[derive(Debug)]
pub(crate) struct FileContains {
    pub(crate) path: String,
    pub(crate) value: String,
}

impl FileExists {
    async fn look(&self, subject: &Subject<'_>) -> Outcome {
        match read(subject.workspace, &self.path).await {
            Ok(Some(_)) => Outcome::pass(format!("{:?} exists", self.path)),
            Ok(None) => Outcome::fail(format!("there is no file {:?}", self.path)),
            Err(message) => refused(&self.path, &message),
        }
    }
}

impl FileContains {
    async fn look(&self, subject: &Subject<'_>) -> Outcome {
        let shown = excerpt(&self.value, SHORT_BYTES);
        match read(subject.workspace, &self.path).await {
            Ok(Some(text)) if text.contains(&self.value) => {
                Outcome::pass(format!("{:?} contains {shown:?}", self.path))
            }
            Ok(Some(_)) => Outcome::fail(format!("{:?} does not contain {shown:?}", self.path)),
            Ok(None) => Outcome::fail(format!("there is no file {:?}", self.path)),
            Err(message) => refused(&self.path, &message),
        }
    }
}

impl Behaviour for FileExists {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.look(subject))
    }
}

impl Behaviour for FileContains {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.look(subject))
    }
}

/// The path as written, else with or without a leading `./`: captured files are known by either name.
async fn read(workspace: &dyn Workspace, path: &str) -> Result<Option<String>, String> {
    if let Some(text) = workspace.file(path).await? {
        return Ok(Some(text));
    }
    match path.strip_prefix("./") {
        Some(bare) => workspace.file(bare).await,
        None if path.starts_with('/') => Ok(None),
        None => workspace.file(&format!("./{path}")).await,
    }
}

fn refused(path: &str, message: &str) -> Outcome {
    Outcome::error(FailureKind::Misconfigured, format!("cannot look at {path:?}: {message}"))
}
