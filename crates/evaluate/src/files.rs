//! `file_exists` and `file_contains`: the files that the trial left behind.

use record::FailureKind;
use scenario::check;

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{Subject, Workspace},
};

#[derive(Debug)]
pub(crate) struct FileExists {
    path: String,
}

#[derive(Debug)]
pub(crate) struct FileContains {
    path: String,
    value: String,
}

impl FileExists {
    pub(crate) fn new(rule: &check::FileExists) -> Self {
        Self { path: rule.path.clone() }
    }

    async fn look(&self, subject: &Subject<'_>) -> Outcome {
        match read(subject.workspace, &self.path).await {
            Ok(Some(_)) => Outcome::pass(format!("{:?} exists", self.path)),
            Ok(None) => Outcome::fail(format!("there is no file {:?}", self.path)),
            Err(message) => refused(&self.path, &message),
        }
    }
}

impl FileContains {
    pub(crate) fn new(rule: &check::FileContains) -> Self {
        Self { path: rule.path.clone(), value: rule.value.clone() }
    }

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

/// Tries the path as written, then with or without a leading `./`, because captured files can have either name.
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
