//! `http_state`: a service has a state, read over HTTP.

use scenario::check;
use serde_json::Value;

use crate::{
    end_state::Expected,
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
    within::within,
};

#[derive(Debug)]
pub(crate) struct HttpState {
    host: String,
    path: String,
    /// `None`: the whole answer.
    expected: Option<Expected>,
    equals: Option<Value>,
    within_ms: u64,
}

impl HttpState {
    pub(crate) fn new(rule: &check::HttpState) -> Result<Self, Error> {
        let check::HttpState { host, path, json_path, equals, within_ms } = rule;
        let expected = json_path.as_ref().map(|path| Expected::new(path, equals.as_ref(), "json_path")).transpose()?;
        Ok(Self { host: host.clone(), path: path.clone(), expected, equals: equals.clone(), within_ms: *within_ms })
    }

    async fn look(&self, subject: &Subject<'_>) -> Outcome {
        let shown = excerpt(&self.path, SHORT_BYTES);
        match subject.workspace.http_state(&self.host, &self.path).await {
            Ok(None) => Outcome::fail(format!("{} has nothing at {shown}", self.host)),
            Ok(Some(state)) => match (&self.expected, &self.equals) {
                (Some(expected), _) => expected.look(&state),
                (None, None) => {
                    Outcome::pass(format!("{} has something at {shown}", self.host)).with_evidence(&state.to_string())
                }
                (None, Some(expected)) => {
                    let holds = scenario::mock::expression::is_equal(&state, expected);
                    let word = if holds { "equals" } else { "does not equal" };
                    let expected = expected.to_string();
                    let reason = format!("the state at {shown} {word} {}", excerpt(&expected, SHORT_BYTES));
                    Outcome::decided(holds, reason).with_evidence(&state.to_string())
                }
            },
            Err(error) => Outcome::error(error.kind(), format!("the state at {shown} cannot be read: {error}")),
        }
    }
}

impl Behaviour for HttpState {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(within(self.within_ms, || Box::pin(self.look(subject))))
    }
}
