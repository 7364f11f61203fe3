//! `spend`: how many tokens and how much money the agent's replies took.

use record::{Call, FailureKind, Role, Turn, Usd};
use scenario::check;

use crate::{error::Error, evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct Spend {
    max: Option<Usd>,
    max_tokens: Option<u64>,
}

impl Spend {
    pub(crate) fn new(rule: &check::Spend) -> Result<Self, Error> {
        let max_usd = rule.max_usd.map(|most| most.0);
        let max_tokens = rule.max_tokens.map(|most| most.0);
        if max_usd.is_none() && max_tokens.is_none() {
            return Err(Error::Empty { field: "max_usd" });
        }
        let message = "is not an amount of money".to_owned();
        match max_usd {
            Some(usd) if !usd.is_finite() || usd < 0.0 => Err(Error::Invalid { field: "max_usd", message }),
            _ => Ok(Self { max: max_usd.map(|usd| Usd((usd * 1e9).round() as i64)), max_tokens }),
        }
    }
}

impl Immediate for Spend {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let calls: Vec<&Call> = subject.turns.iter().flat_map(agent_calls).collect();
        if calls.is_empty() {
            return Outcome::nothing_said();
        }
        let mut parts = Vec::new();
        if let Some(max) = self.max_tokens {
            let tokens = |call: &Call| call.tokens.input.saturating_add(call.tokens.output);
            if calls.iter().any(|call| tokens(call) == 0) {
                return Outcome::error(FailureKind::Misconfigured, "the agent does not say how many tokens it used");
            }
            let used = calls.iter().fold(0_u64, |sum, call| sum.saturating_add(tokens(call)));
            if used > max {
                return Outcome::fail(format!("the agent used {used} tokens, at most {max}"));
            }
            parts.push(format!("{used} tokens"));
        }
        if let Some(max) = self.max {
            let Some(cost) = calls.iter().map(|call| call.cost).sum::<Option<Usd>>() else {
                let message = "the cost of the agent is unknown: its endpoint has no price in the settings";
                return Outcome::error(FailureKind::Misconfigured, message);
            };
            if cost > max {
                return Outcome::fail(format!("the agent cost {cost}, at most {max}"));
            }
            parts.push(cost.to_string());
        }
        Outcome::pass(format!("the agent used {}", parts.join(", ")))
    }
}

fn agent_calls(turn: &Turn) -> impl Iterator<Item = &Call> {
    turn.calls.iter().filter(|call| call.role == Role::Agent)
}
