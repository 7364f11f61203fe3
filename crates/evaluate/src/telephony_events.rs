//! `telephony_events`: the keys that the agent pressed, where it transferred the call, and whether it hung up.

use scenario::check;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

/// The first words of actions that are telephone events.
const KINDS: [&str; 3] = ["dtmf", "transfer_call", "end_call"];

#[derive(Debug)]
pub(crate) struct TelephonyEvents {
    expected: Vec<String>,
}

impl TelephonyEvents {
    pub(crate) fn new(rule: &check::TelephonyEvents) -> Self {
        Self { expected: rule.expected.clone() }
    }
}

impl Immediate for TelephonyEvents {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let actions = subject.turns.iter().flat_map(|turn| &turn.actions).map(|action| action.trim());
        let made: Vec<&str> = actions
            .filter(|action| action.split_whitespace().next().is_some_and(|kind| KINDS.contains(&kind)))
            .collect();
        let outcome = match made == self.expected {
            true if made.is_empty() => Outcome::pass("no telephony events, as expected"),
            true => Outcome::pass("exactly the expected telephony events"),
            false => Outcome::fail(format!("expected {}, the agent did {}", listed(&self.expected), listed(&made))),
        };
        if made.is_empty() { outcome } else { outcome.with_evidence(&made.join("\n")) }
    }
}

fn listed<T: AsRef<str>>(events: &[T]) -> String {
    let events: Vec<&str> = events.iter().map(AsRef::as_ref).collect();
    if events.is_empty() { "none".to_owned() } else { events.join(", ") }
}
