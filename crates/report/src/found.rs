//! What was found over every trial of a run, beyond the numbers of its summary.

use record::{Trial, Turn};

use crate::{Failures, battery::examined::Examined, informing::Informing};

/// Fed with all trials in the plan's order; its size does not grow with their number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub(crate) failures: Failures,
    pub(crate) informing: Informing,
    pub(crate) examined: Examined,
}

impl Found {
    pub(crate) fn add(&mut self, trial: &Trial, turns: &[Turn]) {
        self.failures.add(trial);
        if !self.examined.add(trial, turns) {
            self.informing.add(trial);
        }
    }
}
