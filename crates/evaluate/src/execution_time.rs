//! `execution_time`: the step or turn took neither too long nor too short a time.

use record::FailureKind;
use scenario::check;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct ExecutionTime {
    max_ms: u64,
    min_ms: Option<u64>,
    /// Only for the rating in the reason.
    target_ms: Option<u64>,
}

impl ExecutionTime {
    pub(crate) fn new(rule: &check::ExecutionTime) -> Self {
        Self {
            max_ms: rule.max_duration_ms.0,
            min_ms: rule.min_duration_ms.map(|time| time.0),
            target_ms: rule.target_duration_ms.map(|time| time.0),
        }
    }
}

impl Immediate for ExecutionTime {
    /// The reason holds the rating: the distance from the target as a share of the target. It is not a score, because
    /// scores must be equal between two runs of one plan, and times are not.
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let Some(took_ms) = subject.duration_ms else {
            return Outcome::error(FailureKind::Misconfigured, "no timing data: nothing here was timed");
        };
        let rated = match self.target_ms {
            Some(target_ms) => {
                let rating = took_ms.abs_diff(target_ms) as f64 / target_ms.max(1) as f64;
                format!(" (rating {rating:.2} against the target of {target_ms} ms)")
            }
            None => String::new(),
        };
        if took_ms > self.max_ms {
            return Outcome::fail(format!("took {took_ms} ms, above the maximum of {} ms{rated}", self.max_ms));
        }
        match self.min_ms {
            Some(min_ms) if took_ms < min_ms => {
                Outcome::fail(format!("took {took_ms} ms, below the minimum of {min_ms} ms{rated}"))
            }
            _ => Outcome::pass(format!("took {took_ms} ms{rated}")),
        }
    }
}
