//! How the last trials of a worker ended, run by run, and its quarantine.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use scenario::RunId;

/// How many of its last trials of a run say how a worker does.
const LAST: usize = 100;
/// A worker with fewer is not judged, unless all are broken.
const ENOUGH: usize = 50;
/// So many that are all broken are enough, too.
pub(super) const FEW: usize = 10;

/// How the last trials of a session ended, and what follows from that.
#[derive(Debug, Default)]
pub(super) struct Conduct {
    /// Of each run, whether each trial was broken, and possibly by the worker; the oldest first.
    last: BTreeMap<RunId, VecDeque<bool>>,
    pub(super) quarantine: Option<Quarantine>,
    /// Since when it waits until others can be compared with.
    pub(super) held_back: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Quarantine {
    /// Then it gets one trial.
    pub(super) until: Duration,
    /// It has got it.
    pub(super) on_probation: bool,
}

/// What a claim may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowance {
    Everything,
    One,
    Nothing,
}

impl Conduct {
    pub(super) fn is_quarantined(&self) -> bool {
        self.quarantine.is_some()
    }

    pub(super) fn postpone(&mut self, by: Duration) {
        if let Some(quarantine) = &mut self.quarantine {
            quarantine.until += by;
        }
    }

    pub(super) fn add(&mut self, run: &RunId, broken: bool) {
        let last = self.last.entry(run.clone()).or_default();
        last.push_back(broken);
        if last.len() > LAST {
            last.pop_front();
        }
    }

    pub(super) fn forget(&mut self, run: &RunId) {
        self.last.remove(run);
    }

    /// The broken ones of its last trials of the run, and how many there are.
    pub(super) fn counts(&self, run: &RunId) -> (u64, u64) {
        let last = || self.last.get(run).into_iter().flatten();
        (last().filter(|broken| **broken).count() as u64, last().count() as u64)
    }

    /// Broken trials of a hundred, if there are enough of them.
    pub(super) fn rate(&self, run: &RunId, enough: usize) -> Option<u64> {
        let (broken, of) = self.counts(run);
        (of >= enough as u64).then(|| broken * 100 / of.max(1))
    }

    /// The runs of which it has broken all of its last trials.
    pub(super) fn breaks_all_of(&self) -> Vec<RunId> {
        self.last.keys().filter(|run| self.breaks_all(run)).cloned().collect()
    }

    fn breaks_all(&self, run: &RunId) -> bool {
        self.rate(run, FEW) == Some(100)
    }

    /// By how many trials of the run it may be judged.
    pub(super) fn enough(&self, run: &RunId) -> usize {
        if self.breaks_all(run) { FEW } else { ENOUGH }
    }
}
