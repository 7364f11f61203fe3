//! `latency`: how long the agent's replies took.

use record::{FailureKind, Turn, turn::Origin};
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
        let replies: Vec<&Turn> = subject.turns.iter().filter(|turn| turn.speaker != Origin::Program).collect();
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

fn millis(micros: u64) -> String {
    format!("{} ms", micros.div_ceil(1_000))
}
