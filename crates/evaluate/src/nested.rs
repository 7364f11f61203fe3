//! Checks within a check: they judge a value that the outer check took out of the text.

use scenario::Check;

use crate::{
    branches::Branches,
    error::Error,
    evaluator::{Compile, Evaluator},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::Subject,
};

/// All of them must hold.
#[derive(Debug)]
pub(crate) struct Nested(Vec<Evaluator>);

/// A value as text, its name for a reason, and its checks.
pub(crate) type Named<'a> = (String, String, &'a Nested);

/// Compiles the checks of a list, at least one. `field` names the list in the error.
pub(crate) fn compiled(checks: &[Check], field: &'static str, compile: Compile) -> Result<Vec<Evaluator>, Error> {
    if checks.is_empty() {
        return Err(Error::Empty { field });
    }
    if let Some(other) = checks.iter().find(|check| !check.rule.is_about_text()) {
        return Err(Error::NotAboutText { kind: other.rule.kind(), field });
    }
    checks.iter().map(compile).collect()
}

impl Nested {
    /// `field` names the list in the error.
    pub(crate) fn new(checks: &[Check], field: &'static str, compile: Compile) -> Result<Self, Error> {
        compiled(checks, field, compile).map(Self)
    }

    /// Judges the values in order: the first that fails decides, or else the first that could not be judged. `None`:
    /// there was nothing to judge.
    pub(crate) async fn all(values: Vec<Named<'_>>, subject: &Subject<'_>, pool: &dyn JudgePool) -> Option<Outcome> {
        if values.is_empty() {
            return None;
        }
        let mut branches = Branches::all_hold();
        'values: for (name, value, checks) in values {
            let subject = Subject { reply: &value, said: &value, turns: &[], ..*subject };
            for check in &checks.0 {
                let outcome = check.outcome(&subject, pool).await;
                let reason = format!("{name}: {}", excerpt(&outcome.reason, 8 * SHORT_BYTES));
                if branches.add(&name, Outcome { reason, ..outcome }) {
                    break 'values;
                }
            }
        }
        Some(branches.outcome(|reasons| Outcome::pass(excerpt(&reasons.join("; "), 8 * SHORT_BYTES))))
    }
}
