//! `custom`: a check of the user's own decides. The workspace asks it; what it says is read here.

mod answer;

use record::FailureKind;
use scenario::check;

use self::answer::Answer;
use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{CustomAsked, CustomError, Subject},
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
        let check::Custom { check, config, threshold, sees } = &self.rule;
        let asked = CustomAsked { check, config, times: sees.contains(&check::Sees::Times), scope: subject.scope };
        let answered = match subject.workspace.custom(&asked).await {
            Ok(answered) => answered,
            Err(error) => return failed(check, &error),
        };
        let first = match Answer::read(&answered.text, *threshold) {
            Ok(answer) => answer,
            Err(why) => return malformed(check, &why, &answered.text),
        };
        if let Some(again) = answered.again {
            match Answer::read(&again, *threshold) {
                Ok(second) if second.is_same(&first) => {}
                Ok(second) => return unstable(check, &first, &second),
                Err(why) => return malformed(check, &why, &again),
            }
        }
        first.into_outcome(check)
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
