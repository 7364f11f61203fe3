//! `custom`: one of the user's own checks decides. The workspace runs it; its answer is read here.

mod answer;

use record::{CustomRun, FailureKind};
use scenario::check;

use self::answer::Answer;
use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{CustomAnswered, CustomAsked, CustomError, Subject},
};

#[derive(Debug)]
pub(crate) struct Custom {
    rule: check::Custom,
}

impl Custom {
    pub(crate) fn new(rule: &check::Custom) -> Self {
        Self { rule: rule.clone() }
    }

    async fn ask(&self, subject: &Subject<'_>) -> Outcome {
        let check::Custom { check, config, sees, .. } = &self.rule;
        let asked = CustomAsked { check, config, times: sees.contains(&check::Sees::Times), scope: subject.scope };
        let answered = match subject.workspace.custom(&asked).await {
            Ok(answered) => answered,
            Err(error) => return failed(check, &error),
        };
        let (outcome, differs) = self.read(&answered);
        let CustomAnswered { program, transcript, .. } = answered;
        let run = CustomRun { check: check.clone(), program, transcript, differs };
        Outcome { custom: Some(Box::new(run)), ..outcome }
    }

    /// What the answer comes to, and whether the second one is another one.
    fn read(&self, answered: &CustomAnswered) -> (Outcome, Option<bool>) {
        let check::Custom { check, threshold, .. } = &self.rule;
        let read = |text: &str| Answer::read(text, *threshold).map_err(|why| malformed(check, &why, text));
        let first = read(&answered.text);
        let Some(again) = &answered.again else {
            return (first.map_or_else(|outcome| outcome, |first| first.into_outcome(check)), None);
        };
        match (first, read(again)) {
            (Ok(first), Ok(second)) if second.is_same(&first) => (first.into_outcome(check), Some(false)),
            (Ok(first), Ok(second)) => (unstable(check, &first, &second), Some(true)),
            (Err(outcome), Err(_)) => (outcome, Some(false)),
            (Err(outcome), Ok(_)) | (Ok(_), Err(outcome)) => (outcome, Some(true)),
        }
    }
}

impl Behaviour for Custom {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject))
    }
}

fn failed(check: &str, error: &CustomError) -> Outcome {
    let kind = match error {
        CustomError::NotAllowed => FailureKind::ExecutionNotAllowed,
        CustomError::Unknown => FailureKind::Misconfigured,
        CustomError::Malformed(_) => return malformed(check, &error.to_string(), ""),
        CustomError::Failed(_) => FailureKind::CheckFailedToRun,
    };
    Outcome::error(kind, format!("check {check:?}: {error}"))
}

fn malformed(check: &str, why: &str, text: &str) -> Outcome {
    let outcome = Outcome::malformed(format!("check {check:?} gave no valid answer: {why}"));
    if text.is_empty() { outcome } else { outcome.with_evidence(text) }
}

/// It says of itself that it gives the same answer to the same transcript.
fn unstable(check: &str, first: &Answer, second: &Answer) -> Outcome {
    let (first, second) = (first.in_words(), second.in_words());
    let (first, second) = (excerpt(&first, SHORT_BYTES), excerpt(&second, SHORT_BYTES));
    Outcome::malformed(format!(
        "check {check:?} is unstable: it is declared deterministic, and was asked twice about one transcript; it answered \
         {first}, then {second}"
    ))
}
