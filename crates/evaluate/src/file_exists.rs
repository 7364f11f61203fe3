//! `file_exists`: a file exists at the end of the step.

use scenario::check;

use crate::{
    evaluator::{Behaviour, Found},
    files::{read, refused},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct FileExists {
    path: String,
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

impl Behaviour for FileExists {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.look(subject))
    }
}
