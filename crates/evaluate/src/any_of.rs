//! `any_of`: the text satisfies at least one of several checks.

use record::Finding;
use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Evaluator, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    nested,
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct AnyOf(Vec<Evaluator>);

impl AnyOf {
    pub(crate) fn new(rule: &check::AnyOf, compile: Compile) -> Result<Self, Error> {
        let mut checks = nested::compiled(&rule.checks, "checks", compile)?;
        // Models are asked last: a cheaper check may decide before them.
        checks.sort_by_key(Evaluator::asks_a_model);
        Ok(Self(checks))
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let (mut undecided, mut reasons, mut not_applicable) = (None, Vec::new(), None);
        for check in &self.0 {
            let outcome = check.outcome(subject, pool).await;
            match outcome.finding {
                Finding::Pass => return outcome,
                Finding::Fail => reasons.push(excerpt(&outcome.reason, 4 * SHORT_BYTES).into_owned()),
                Finding::Inconclusive | Finding::Error => {
                    undecided.get_or_insert(outcome);
                }
                Finding::NotApplicable => not_applicable = Some(outcome),
            }
        }
        let not_applicable = not_applicable.filter(|_| reasons.is_empty());
        undecided
            .or(not_applicable)
            .unwrap_or_else(|| Outcome::fail(format!("none of {} holds: {}", reasons.len(), reasons.join("; "))))
    }
}

impl Behaviour for AnyOf {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
