//! The trials of one run that wait, and what became of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use record::summary::RunState;
use store::{Lease, Recovered};

use super::ranges::Ranges;

/// From this many lost attempts on, a trial is played alone on a worker.
const LOSSES_BEFORE_SOLO: u32 = 2;
/// A trial that was lent to be played alone and lost this often is not played again.
const SOLO_LOSSES_OF_POISON: u32 = 3;

/// What becomes of a trial whose attempt was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Again,
    Poisoned,
}

#[derive(Debug)]
pub(super) struct Run {
    /// Whoever plays it must know them all.
    pub(super) agents: BTreeSet<String>,
    planned: u64,
    done: u64,
    /// Lent, or poisoned and not stored as ended yet.
    pub(super) lent: u64,
    pub(super) lost_attempts: u64,
    /// Nothing more is lent; the run is over when nothing is lent any more.
    pub(super) draining: bool,
    /// Never lent.
    fresh: Ranges,
    /// Given back or lost: they go first, since the run waits for them longest.
    returned: Ranges,
    /// Ended for now, to be played again: last, so that what broke them has time to pass.
    again: Ranges,
    /// Lost so often that they are played alone.
    solo: Ranges,
    /// Attempts that were begun, by trials that are not done and have some.
    attempts: BTreeMap<u64, u32>,
    /// Lost attempts, by trials that are not done and have some.
    losses: BTreeMap<u64, u32>,
    solo_losses: BTreeMap<u64, u32>,
    poisoned: BTreeSet<u64>,
}

impl Run {
    pub(super) fn new(planned: u64, agents: BTreeSet<String>, recovered: &Recovered) -> Self {
        let mut run = Self {
            agents,
            planned,
            done: 0,
            lent: 0,
            lost_attempts: recovered.lost_attempts,
            draining: false,
            fresh: Ranges::of(0..planned),
            returned: Ranges::default(),
            again: Ranges::default(),
            solo: Ranges::default(),
            attempts: recovered.attempts.iter().copied().collect(),
            losses: recovered.losses.iter().copied().collect(),
            solo_losses: recovered.solo_losses.iter().copied().collect(),
            poisoned: BTreeSet::new(),
        };
        for done in &recovered.done {
            run.fresh.remove(done.clone());
            run.attempts.retain(|trial, _| !done.contains(trial));
        }
        run.done = planned - run.fresh.count();
        for trial in run.attempts.keys().copied().collect::<Vec<_>>() {
            run.fresh.remove(trial..trial + 1);
            if run.is_poisonous(trial) {
                run.poisoned.insert(trial);
                run.lent += 1;
            } else {
                run.queue(trial);
            }
        }
        run
    }

    /// Those that the last process had no time to end.
    pub(super) fn poisoned_already(&self) -> Vec<u64> {
        self.poisoned.iter().copied().collect()
    }

    /// Takes over a lease that was live before a restart and returns those of its trials that wait.
    pub(super) fn adopt(&mut self, lease: &Lease) -> Vec<u64> {
        let mut adopted = Vec::new();
        for queue in [&self.fresh, &self.returned, &self.solo] {
            let mut wanted = queue.clone();
            wanted.remove(0..lease.trials.start);
            wanted.remove(lease.trials.end..u64::MAX);
            while let Some(range) = wanted.take_first(u64::MAX) {
                // One that ended and is played again waits for another epoch.
                adopted.extend(range.filter(|trial| self.epoch(*trial) == lease.epoch));
            }
        }
        for trial in &adopted {
            for queue in [&mut self.fresh, &mut self.returned, &mut self.solo] {
                queue.remove(*trial..*trial + 1);
            }
        }
        self.lent += adopted.len() as u64;
        adopted
    }

    /// Trials that wait and need not be played alone.
    pub(super) fn waiting(&self) -> u64 {
        if self.draining { 0 } else { self.returned.count() + self.fresh.count() + self.again.count() }
    }

    /// The epoch of the trial's next attempt.
    pub(super) fn epoch(&self, trial: u64) -> u32 {
        self.attempts.get(&trial).copied().unwrap_or(0) + 1
    }

    pub(super) fn must_play_solo(&self, trial: u64) -> bool {
        self.losses.get(&trial).is_some_and(|losses| *losses >= LOSSES_BEFORE_SOLO)
    }

    pub(super) fn waits_solo(&self) -> bool {
        !self.draining && self.solo.count() > 0
    }

    pub(super) fn take_solo(&mut self) -> Option<(u64, u32)> {
        if self.draining {
            return None;
        }
        let trial = self.solo.take_first(1)?.start;
        self.lent += 1;
        Some((trial, self.epoch(trial)))
    }

    /// Takes at most `most` trials in at most `pieces` ranges of equal epochs.
    pub(super) fn take(&mut self, most: u64, pieces: usize) -> Vec<(Range<u64>, u32)> {
        let mut taken = Vec::new();
        let mut left = if self.draining { 0 } else { most };
        while left > 0 && taken.len() < pieces {
            let (piece, epoch) = if let Some(range) = self.returned.take_first(left) {
                let (piece, epoch) = self.of_one_epoch(&range);
                self.returned.insert(piece.end..range.end);
                (piece, epoch)
            } else if let Some(range) = self.fresh.take_first(left) {
                (range, 1)
            } else if let Some(range) = self.again.take_first(left) {
                let (piece, epoch) = self.of_one_epoch(&range);
                self.again.insert(piece.end..range.end);
                (piece, epoch)
            } else {
                break;
            };
            left -= piece.end - piece.start;
            taken.push((piece, epoch));
        }
        self.lent += taken.iter().map(|(piece, _)| piece.end - piece.start).sum::<u64>();
        taken
    }

    /// The longest beginning of the range whose trials have the same epoch.
    fn of_one_epoch(&self, range: &Range<u64>) -> (Range<u64>, u32) {
        let epoch = self.epoch(range.start);
        let end = range.clone().find(|trial| self.epoch(*trial) != epoch).unwrap_or(range.end);
        (range.start..end, epoch)
    }

    pub(super) fn give_back(&mut self, trial: u64) {
        self.lent -= 1;
        self.queue(trial);
    }

    /// Its worker had begun it and goes away in peace.
    pub(super) fn give_up(&mut self, trial: u64) {
        self.lost_attempts += 1;
        *self.attempts.entry(trial).or_default() += 1;
        self.give_back(trial);
    }

    pub(super) fn lose(&mut self, trial: u64, solo: bool) -> Fate {
        self.lost_attempts += 1;
        *self.attempts.entry(trial).or_default() += 1;
        *self.losses.entry(trial).or_default() += 1;
        if solo {
            *self.solo_losses.entry(trial).or_default() += 1;
        }
        if self.is_poisonous(trial) {
            self.poisoned.insert(trial);
            return Fate::Poisoned;
        }
        self.give_back(trial);
        Fate::Again
    }

    /// The store has counted the trial, which was lent or poisoned.
    pub(super) fn end(&mut self, trial: u64) {
        self.done += 1;
        self.lent -= 1;
        self.poisoned.remove(&trial);
        self.attempts.remove(&trial);
        self.losses.remove(&trial);
        self.solo_losses.remove(&trial);
    }

    /// The store has kept how the trial ended, which was lent, and it is to be played again.
    pub(super) fn end_for_now(&mut self, trial: u64) {
        self.lent -= 1;
        *self.attempts.entry(trial).or_default() += 1;
        let queue = if self.must_play_solo(trial) { &mut self.solo } else { &mut self.again };
        queue.insert(trial..trial + 1);
    }

    /// How the run ended, if it did.
    pub(super) fn over(&self) -> Option<RunState> {
        if self.done == self.planned {
            Some(RunState::Finished)
        } else if self.draining && self.lent == 0 {
            Some(RunState::Interrupted)
        } else {
            None
        }
    }

    fn queue(&mut self, trial: u64) {
        let queue = if self.must_play_solo(trial) { &mut self.solo } else { &mut self.returned };
        queue.insert(trial..trial + 1);
    }

    fn is_poisonous(&self, trial: u64) -> bool {
        self.solo_losses.get(&trial).is_some_and(|losses| *losses >= SOLO_LOSSES_OF_POISON)
    }
}
