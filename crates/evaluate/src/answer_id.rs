//! `answer_id`: an agent that looks up its answers gave the one with the expected id.

use record::{FailureKind, Finding, answer::Answer};
use scenario::check;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct AnswerId {
    id: u32,
}

impl AnswerId {
    pub(crate) fn new(rule: &check::AnswerId) -> Self {
        Self { id: rule.id.0 }
    }
}

impl Immediate for AnswerId {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let Some(answer) = subject.turns.last().and_then(Answer::of) else {
            // An agent that reports no ids gave no wrong one.
            let reason = format!("the agent does not say which answer it gave, and {} is expected", self.id);
            return Outcome { finding: Finding::Inconclusive, ..Outcome::error(FailureKind::Misconfigured, reason) };
        };
        let holds = answer.id == i64::from(self.id);
        let reason = if holds {
            format!("the answer is {answer}")
        } else {
            format!("the answer is {answer}, and {} is expected", self.id)
        };
        Outcome::decided(holds, reason)
    }
}
