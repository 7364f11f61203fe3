//! `execution_time`: the step or turn took neither too long nor too little.

use record::FailureKind;

use crate::{evaluator::Immediate, outcome::Outcome, subject::Subject};

#[derive(Debug)]
pub(crate) struct ExecutionTime {
    pub(crate) max_ms: u64,
    pub(crate) min_ms: Option<u64>,
    /// Only rates, never fails.
    pub(crate) target_ms: Option<u64>,
}

impl Immediate for ExecutionTime {
    /// The rating (distance from the target, as a share of it) stands in the reason. There is no score:
    /// scores belong to what must be equal between two runs of one plan, and times are not.
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
