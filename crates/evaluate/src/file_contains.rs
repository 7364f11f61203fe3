//! `file_contains`: a file contains a text at the end of the step.

use scenario::check;

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    files::{read, refused},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct FileContains {
    path: String,
    value: String,
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

impl Behaviour for FileContains {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.look(subject))
    }
}
