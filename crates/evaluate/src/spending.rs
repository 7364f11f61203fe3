//! `latency` and `spend`: how long the agent's replies took, and what they cost.

use record::{Call, FailureKind, Role, Turn, Usd, turn::Speaker};
use scenario::check;

use crate::{error::Error, evaluator::Immediate, outcome::Outcome, subject::Subject};

/// Has no score, like `execution_time`: scores must be equal between two runs of one plan, and times are not.
#[derive(Debug)]
pub(crate) struct Latency {
    max_total_ms: Option<u64>,
    max_ttft_ms: Option<u64>,
}

impl Latency {
    pub(crate) fn new(rule: &check::Latency) -> Result<Self, Error> {
        let max_total_ms = rule.max_total_ms.map(|most| most.0);
        let max_ttft_ms = rule.max_ttft_ms.map(|most| most.0);
        if max_total_ms.is_none() && max_ttft_ms.is_none() {
            return Err(Error::Empty { field: "max_total_ms" });
        }
        Ok(Self { max_total_ms, max_ttft_ms })
    }
}

impl Immediate for Latency {
    /// The slowest reply decides.
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let replies: Vec<&Turn> = subject.turns.iter().filter(|turn| turn.speaker != Speaker::Program).collect();
        let Some(slowest) = replies.iter().max_by_key(|turn| turn.duration_micros) else {
            return Outcome::nothing_said();
        };
        let mut parts = Vec::new();
        if let Some(max_ms) = self.max_total_ms {
            let (took, turn) = (slowest.duration_micros, slowest.number);
            if took > max_ms.saturating_mul(1_000) {
                return Outcome::fail(format!("the reply of turn {turn} took {}, at most {max_ms} ms", millis(took)));
            }
            parts.push(format!("at most {} a reply", millis(took)));
        }
        if let Some(max_ms) = self.max_ttft_ms {
            let firsts: Vec<(u64, u32)> =
                replies.iter().filter_map(|turn| Some((turn.first_token_micros()?, turn.number))).collect();
            let Some((took, turn)) = firsts.into_iter().max() else {
                let message = "no time to the first token was measured: the agent does not stream its replies";
                return Outcome::error(FailureKind::Misconfigured, message);
            };
            if took > max_ms.saturating_mul(1_000) {
                return Outcome::fail(format!(
                    "the first token of turn {turn} took {}, at most {max_ms} ms",
                    millis(took)
                ));
            }
            parts.push(format!("at most {} to the first token", millis(took)));
        }
        Outcome::pass(parts.join(", "))
    }
}

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
                let message = "nobody knows what the agent costs: its endpoint has no price in the settings";
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

fn millis(micros: u64) -> String {
    format!("{} ms", micros.div_ceil(1_000))
}
