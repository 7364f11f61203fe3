//! `any_of`: the text satisfies at least one of several checks.

use record::Finding;
use scenario::Check;

use crate::{
    Bench, Evaluator, Subject, compile,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

#[derive(Debug)]
pub(crate) struct AnyOf(Vec<Evaluator>);

impl AnyOf {
    pub(crate) fn new(checks: &[Check]) -> Result<Self, compile::Error> {
        if checks.is_empty() {
            return Err(compile::Error::Empty { field: "checks" });
        }
        if let Some(other) = checks.iter().find(|check| !check.rule.is_about_text()) {
            return Err(compile::Error::NotAboutText { kind: other.rule.kind(), field: "checks" });
        }
        let mut checks = checks.iter().map(compile::compile).collect::<Result<Vec<_>, _>>()?;
        // A judge is asked only where nothing cheaper has decided.
        checks.sort_by_key(Evaluator::asks_a_model);
        Ok(Self(checks))
    }

    pub(crate) fn asks_a_model(&self) -> bool {
        self.0.iter().any(Evaluator::asks_a_model)
    }

    pub(crate) async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let (mut undecided, mut reasons) = (None, Vec::new());
        for check in &self.0 {
            let outcome = Box::pin(check.outcome(subject, bench)).await;
            match outcome.finding {
                Finding::Pass => return outcome,
                Finding::Fail => reasons.push(excerpt(&outcome.reason, 4 * SHORT_BYTES).into_owned()),
                Finding::Inconclusive | Finding::Error => {
                    undecided.get_or_insert(outcome);
                }
            }
        }
        undecided.unwrap_or_else(|| Outcome::fail(format!("none of {} holds: {}", self.0.len(), reasons.join("; "))))
    }
}
