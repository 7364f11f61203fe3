//! Findings over all trials of a run, in addition to the figures of its summary.

use record::{Trial, Turn};
use statistics::{compare::found::Comparison, sentinels::SentinelDrift};

use crate::{Failures, battery::examined::Examined, informing::Informing};

/// Fed with all trials in the plan's order; its size does not grow with their number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub(crate) failures: Failures,
    pub(crate) informing: Informing,
    pub(crate) examined: Examined,
    /// With an earlier run.
    pub(crate) comparison: Option<Box<Comparison>>,
    /// Whether the judge is as in the nights before.
    pub(crate) sentinels: Option<Box<SentinelDrift>>,
}

impl Found {
    /// For a page beside which the whole comparison stands.
    #[must_use]
    pub fn without_comparison(self) -> Self {
        Self { comparison: None, ..self }
    }

    pub(crate) fn add(&mut self, trial: &Trial, turns: &[Turn]) {
        self.failures.add(trial);
        if !self.examined.add(trial, turns) {
            self.informing.add(trial);
        }
    }
}
