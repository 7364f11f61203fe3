//! The figures of a finished run and of its scenarios.

use record::{Summary, Verdict, summary::Rate, tally::Counts};

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Unix milliseconds.
    pub(super) ended_at: i64,
    pub(super) duration_seconds: f64,
    pub(super) cost_usd: f64,
    pub(super) success_rate: Rate,
    pub(super) judged_pass_rate: Rate,
    pub(super) trials: [(Verdict, u64); 6],
}

/// The cases of one scenario.
#[derive(Debug, Default)]
pub(super) struct Cases {
    pub(super) counts: Counts,
    pub(super) failing: u64,
    pub(super) flaky: u64,
}

impl Ended {
    pub(super) fn of(summary: &Summary, started_at: i64, ended_at: i64) -> Self {
        let totals = &summary.summary;
        let trials = &totals.trials;
        Self {
            ended_at,
            duration_seconds: ended_at.saturating_sub(started_at) as f64 / 1e3,
            cost_usd: totals.cost.total_usd,
            success_rate: totals.success_rate.clone(),
            judged_pass_rate: totals.judged_pass_rate.clone(),
            trials: [
                (Verdict::Pass, trials.pass),
                (Verdict::Fail, trials.fail),
                (Verdict::Inconclusive, trials.inconclusive),
                (Verdict::Error, trials.error),
                (Verdict::Skipped, trials.skipped),
                (Verdict::Cancelled, trials.cancelled),
            ],
        }
    }
}
