//! How the last trials of a worker ended, and its quarantine.

use std::{collections::VecDeque, time::Duration};

/// How many of its last trials say how a worker does.
const LAST: usize = 100;
/// A worker with fewer is not judged, unless all are broken.
const ENOUGH: usize = 50;
/// So many that are all broken are enough, too. A worker with fewer is not compared with.
pub(super) const FEW: usize = 10;

/// How the last trials of a session ended, and what follows from that.
#[derive(Debug, Default)]
pub(super) struct Conduct {
    /// Whether each was broken, and possibly by the worker; the oldest first.
    last: VecDeque<bool>,
    pub(super) quarantine: Option<Quarantine>,
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
    /// One trial, which decides.
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

    pub(super) fn add(&mut self, broken: bool) {
        self.last.push_back(broken);
        if self.last.len() > LAST {
            self.last.pop_front();
        }
    }

    /// How many there are, up to [`LAST`].
    pub(super) fn count(&self) -> u64 {
        self.last.len() as u64
    }

    pub(super) fn broken(&self) -> u64 {
        self.last.iter().filter(|broken| **broken).count() as u64
    }

    /// Broken trials of a hundred, if there are enough of them.
    pub(super) fn rate(&self, enough: usize) -> Option<u64> {
        (self.last.len() >= enough).then(|| self.broken() * 100 / self.count().max(1))
    }

    pub(super) fn breaks_all(&self) -> bool {
        self.rate(FEW) == Some(100)
    }

    /// The same rate of a worker that may be judged.
    pub(super) fn judged(&self) -> Option<u64> {
        self.rate(if self.breaks_all() { FEW } else { ENOUGH })
    }
}
