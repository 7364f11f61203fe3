//! `trajectory_contains_action`: the agent called a tool or reported an action of this name.

use record::Turn;
use scenario::check;

use crate::{
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
    subject::Subject,
};

/// How many other names a reason lists.
const NAMES_SHOWN: usize = 8;

#[derive(Debug)]
pub(crate) struct TrajectoryContainsAction {
    action: String,
}

impl TrajectoryContainsAction {
    pub(crate) fn new(rule: &check::TrajectoryContainsAction) -> Self {
        Self { action: rule.action.clone() }
    }
}

impl Immediate for TrajectoryContainsAction {
    /// Looks at every turn of the scope. A call counts even if it failed.
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let shown = excerpt(&self.action, SHORT_BYTES);
        let names = || subject.turns.iter().flat_map(names_of);
        match names().find(|name| same(name, &self.action)) {
            Some(name) => Outcome::pass(format!("the agent used {:?}", excerpt(name, SHORT_BYTES))),
            None => {
                let others: Vec<_> = names().take(NAMES_SHOWN).map(|name| excerpt(name, SHORT_BYTES)).collect();
                let seen = if others.is_empty() {
                    "it reported no tool calls and no actions".to_owned()
                } else {
                    format!("it used {}", others.join(", "))
                };
                Outcome::fail(format!("the agent did not use {shown:?}; {seen}"))
            }
        }
    }
}

fn names_of(turn: &Turn) -> impl Iterator<Item = &str> {
    turn.tool_calls.iter().map(|call| call.name.as_str()).chain(turn.actions.iter().map(String::as_str))
}

/// `SEND_MESSAGE`, `send-message` and `sendMessage` are one name.
fn same(left: &str, right: &str) -> bool {
    letters(left).eq(letters(right))
}

fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase)
}
