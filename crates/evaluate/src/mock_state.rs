//! `mock_state`: the state of the scenario's mocks has a value at a path.

use record::FailureKind;
use scenario::check;

use crate::{
    end_state::Expected,
    error::Error,
    evaluator::{Behaviour, Found},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct MockState {
    expected: Expected,
}

impl MockState {
    pub(crate) fn new(rule: &check::MockState) -> Result<Self, Error> {
        Ok(Self { expected: Expected::new(&rule.path, rule.equals.as_ref(), "path")? })
    }
}

impl Behaviour for MockState {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::Now(match subject.workspace.mock_state() {
            Ok(state) => self.expected.look(&state),
            Err(why) => Outcome::error(FailureKind::Misconfigured, format!("there is no state to look at: {why}")),
        })
    }
}
