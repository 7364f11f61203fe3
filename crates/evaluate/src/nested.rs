//! Checks of a value that another check took out of the text.

use record::Finding;
use scenario::Check;

use crate::{
    Bench, Evaluator, Subject, compile,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

/// All of them must hold.
#[derive(Debug)]
pub(crate) struct Nested(Vec<Evaluator>);

/// A value as text, what to call it in a reason, and what it must satisfy.
pub(crate) type Named<'a> = (String, String, &'a Nested);

impl Nested {
    /// `field` names the list in the error.
    pub(crate) fn new(checks: &[Check], field: &'static str) -> Result<Self, compile::Error> {
        if checks.is_empty() {
            return Err(compile::Error::Empty { field });
        }
        if let Some(other) = checks.iter().find(|check| !check.rule.is_about_text()) {
            return Err(compile::Error::NotAboutText { kind: other.rule.kind(), field });
        }
        checks.iter().map(compile::compile).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn asks_a_model(&self) -> bool {
        self.0.iter().any(Evaluator::asks_a_model)
    }

    /// Judges the values in turn: the first that fails decides, else the first that could not be judged.
    /// `None` where there was nothing to judge.
    pub(crate) async fn all(values: Vec<Named<'_>>, subject: &Subject<'_>, bench: &dyn Bench) -> Option<Outcome> {
        let (mut undecided, mut passed) = (None, Vec::new());
        for (name, value, checks) in values {
            let subject = Subject { reply: &value, said: &value, turns: &[], ..*subject };
            for check in &checks.0 {
                // Boxed: a check may hold checks that hold checks.
                let outcome = Box::pin(check.outcome(&subject, bench)).await;
                let reason = format!("{name}: {}", excerpt(&outcome.reason, 8 * SHORT_BYTES));
                match outcome.finding {
                    Finding::Fail => return Some(Outcome { reason, ..outcome }),
                    Finding::Pass => passed.push(reason),
                    Finding::Error | Finding::Inconclusive => {
                        undecided.get_or_insert(Outcome { reason, ..outcome });
                    }
                }
            }
        }
        undecided.or_else(|| (!passed.is_empty()).then(|| Outcome::pass(excerpt(&passed.join("; "), 8 * SHORT_BYTES))))
    }
}
