//! Trials of a run that are not played any more, because their case or the whole run is decided.

use super::ranges::Ranges;

#[derive(Debug, Default)]
pub(super) struct Unwanted {
    trials: Ranges,
    /// Nothing more is leased, and the run is finished when nothing is leased any more.
    all: bool,
}

impl Unwanted {
    pub(super) fn has(&self, trial: u64) -> bool {
        self.trials.has(trial)
    }

    pub(super) fn add(&mut self, trial: u64) {
        if !self.has(trial) {
            self.trials.insert(trial..trial + 1);
        }
    }

    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    pub(super) fn become_all(&mut self) {
        self.all = true;
    }
}
