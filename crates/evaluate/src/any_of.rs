//! `any_of`: the text satisfies at least one of several checks.

use scenario::check;

use crate::{
    branches::Branches,
    error::Error,
    evaluator::{Behaviour, Compile, Evaluator, Found},
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
        let mut branches = Branches::any_holds();
        for check in &self.0 {
            if branches.add(check.shown(), check.outcome(subject, pool).await) {
                break;
            }
        }
        branches.outcome(|reasons| Outcome::fail(format!("none of {} holds: {}", reasons.len(), reasons.join("; "))))
    }
}

impl Behaviour for AnyOf {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
