//! The trials of one run: which wait, in which queue, and which epoch comes next.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use record::summary::RunState;
use store::{Lease, Recovered};

use super::{
    poison::{Circumstances, Suspects},
    ranges::Ranges,
    unrest::Loss,
};

/// A trial that its worker did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unended {
    pub(super) trial: u64,
    /// As far as its worker said.
    pub(super) begun: bool,
}

#[derive(Debug)]
pub(super) struct Run {
    /// A worker must know all of them to play the run.
    pub(super) agents: BTreeSet<String>,
    planned: u64,
    done: u64,
    /// Leased, or poisoned and not stored as ended yet.
    pub(super) leased: u64,
    /// Those that had begun.
    pub(super) lost_attempts: u64,
    /// Nothing more is leased; the run is over when nothing is leased any more.
    pub(super) draining: bool,
    /// Never leased.
    fresh: Ranges,
    /// Given back or lost. They go first, since the run waits longest for them.
    returned: Ranges,
    /// Ended for now, to be played again. They go last, so that the fault that broke them has time to pass.
    again: Ranges,
    /// Lost so often that they are played last, with a worker of their own.
    suspects: Suspects,
    /// The latest epoch, of trials that are not done and were leased for good.
    attempts: BTreeMap<u64, u32>,
    poisoned: BTreeSet<u64>,
}

impl Run {
    pub(super) fn new(planned: u64, agents: BTreeSet<String>, recovered: &Recovered) -> Self {
        let is_done = |trial: u64| recovered.done.iter().any(|done| done.contains(&trial));
        let losses = recovered.losses.iter().filter(|losses| !is_done(losses.number)).copied();
        let mut run = Self {
            agents,
            planned,
            done: 0,
            leased: 0,
            lost_attempts: recovered.lost_attempts,
            draining: false,
            fresh: Ranges::of(0..planned),
            returned: Ranges::default(),
            again: Ranges::default(),
            suspects: Suspects::recovered(losses),
            attempts: recovered.attempts.iter().copied().collect(),
            poisoned: BTreeSet::new(),
        };
        for done in &recovered.done {
            run.fresh.remove(done.clone());
            run.attempts.retain(|trial, _| !done.contains(trial));
        }
        run.done = planned - run.fresh.count();
        for trial in run.attempts.keys().copied() {
            run.fresh.remove(trial..trial + 1);
            if run.suspects.is_poisonous(trial) {
                run.poisoned.insert(trial);
                run.leased += 1;
            } else if !run.suspects.is_suspect(trial) {
                run.returned.insert(trial..trial + 1);
            }
        }
        run
    }

    /// Poisoned trials that the last process did not end.
    pub(super) fn poisoned_already(&self) -> Vec<u64> {
        self.poisoned.iter().copied().collect()
    }

    /// Takes over a lease that was live before a restart and returns those of its trials that wait.
    pub(super) fn adopt(&mut self, lease: &Lease) -> Vec<u64> {
        let attempts = &self.attempts;
        // A trial that ended and is played again waits for another epoch.
        let is_same = |trial: &u64| attempts.get(trial).copied().unwrap_or(0) + 1 == lease.epoch;
        let mut adopted = Vec::new();
        for queue in [&mut self.fresh, &mut self.returned].into_iter().chain(self.suspects.queues()) {
            let mut wanted = queue.clone();
            wanted.remove(0..lease.trials.start);
            wanted.remove(lease.trials.end..u64::MAX);
            while let Some(range) = wanted.take_first(u64::MAX) {
                for trial in range.filter(is_same) {
                    queue.remove(trial..trial + 1);
                    adopted.push(trial);
                }
            }
        }
        self.suspects.forget_empty();
        self.leased += adopted.len() as u64;
        adopted
    }

    /// How many trials wait, suspects not included.
    pub(super) fn waiting(&self) -> u64 {
        if self.draining { 0 } else { self.returned.count() + self.fresh.count() + self.again.count() }
    }

    /// The epoch of the trial's next attempt.
    pub(super) fn epoch(&self, trial: u64) -> u32 {
        self.attempts.get(&trial).copied().unwrap_or(0) + 1
    }

    pub(super) fn is_suspect(&self, trial: u64) -> bool {
        self.suspects.is_suspect(trial)
    }

    /// Whether suspects are next: healthy trials go first.
    pub(super) fn has_suspects(&self, now: Duration, calm: bool) -> bool {
        !self.draining && self.waiting() == 0 && self.suspects.are_ready(now, calm)
    }

    /// Whether anything is to be leased, now or after a rest.
    pub(super) fn has_work(&self) -> bool {
        self.waiting() > 0 || (!self.draining && self.suspects.count() > 0)
    }

    /// At most `most` trials of one group of suspects, in at most `pieces` ranges of equal epochs, and the losses of it.
    pub(super) fn take_suspects(
        &mut self,
        most: u64,
        pieces: usize,
        now: Duration,
        calm: bool,
    ) -> (Vec<(Range<u64>, u32)>, Vec<Loss>) {
        let attempts = &self.attempts;
        let (taken, lost_with) = self.suspects.take(most, pieces, now, calm, |range| of_one_epoch(attempts, range).0);
        let taken: Vec<_> = taken.into_iter().map(|range| of_one_epoch(attempts, &range)).collect();
        self.leased += taken.iter().map(|(piece, _)| piece.end - piece.start).sum::<u64>();
        (taken, lost_with)
    }

    /// Takes at most `most` trials in at most `pieces` ranges of equal epochs.
    pub(super) fn take(&mut self, most: u64, pieces: usize) -> Vec<(Range<u64>, u32)> {
        let mut taken = Vec::new();
        let mut left = if self.draining { 0 } else { most };
        while left > 0 && taken.len() < pieces {
            let (piece, epoch) = if let Some(range) = self.returned.take_first(left) {
                let (piece, epoch) = of_one_epoch(&self.attempts, &range);
                self.returned.insert(piece.end..range.end);
                (piece, epoch)
            } else if let Some(range) = self.fresh.take_first(left) {
                (range, 1)
            } else if let Some(range) = self.again.take_first(left) {
                let (piece, epoch) = of_one_epoch(&self.attempts, &range);
                self.again.insert(piece.end..range.end);
                (piece, epoch)
            } else {
                break;
            };
            left -= piece.end - piece.start;
            taken.push((piece, epoch));
        }
        self.leased += taken.iter().map(|(piece, _)| piece.end - piece.start).sum::<u64>();
        taken
    }

    /// Takes back trials that had not begun.
    pub(super) fn give_back(&mut self, trials: &[u64], now: Duration) {
        self.take_back(trials, &Circumstances::default(), now);
    }

    fn take_back(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        self.leased -= trials.len() as u64;
        let (suspects, others): (Vec<u64>, Vec<u64>) = trials.iter().partition(|trial| self.is_suspect(**trial));
        self.suspects.add_back(&suspects, how, now);
        others.into_iter().for_each(|trial| self.returned.insert(trial..trial + 1));
    }

    /// Takes back trials that had begun, from a worker that leaves on purpose.
    pub(super) fn give_up(&mut self, trials: &[u64], now: Duration) {
        for trial in trials {
            self.lost_attempts += 1;
            *self.attempts.entry(*trial).or_default() += 1;
        }
        self.give_back(trials, now);
    }

    /// Takes back trials that were lost with their worker. Returns those that are poisoned.
    pub(super) fn lose(&mut self, lost: &[Unended], how: &Circumstances, now: Duration) -> Vec<u64> {
        let (mut poisoned, mut suspects, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for Unended { trial, begun } in lost.iter().copied() {
            self.lost_attempts += u64::from(begun);
            *self.attempts.entry(trial).or_default() += 1;
            self.suspects.lose(trial, begun, how.proof);
            match begun {
                _ if self.suspects.is_poisonous(trial) => poisoned.push(trial),
                true if self.is_suspect(trial) => suspects.push(trial),
                _ => others.push(trial),
            }
        }
        self.poisoned.extend(&poisoned);
        self.leased -= suspects.len() as u64;
        self.suspects.add_lost(&suspects, how, now);
        self.take_back(&others, how, now);
        poisoned
    }

    /// The store has counted the trial.
    pub(super) fn end(&mut self, trial: u64) {
        self.done += 1;
        self.leased -= 1;
        self.poisoned.remove(&trial);
        self.attempts.remove(&trial);
        self.suspects.clear(trial);
    }

    /// The store has the end of the trial, and it is played again.
    pub(super) fn end_for_now(&mut self, trial: u64) {
        self.leased -= 1;
        *self.attempts.entry(trial).or_default() += 1;
        self.suspects.clear(trial);
        self.again.insert(trial..trial + 1);
    }

    /// How the run ended, if it did.
    pub(super) fn over(&self) -> Option<RunState> {
        if self.done == self.planned {
            Some(RunState::Finished)
        } else if self.draining && self.leased == 0 {
            Some(RunState::Interrupted)
        } else {
            None
        }
    }
}

/// The longest beginning of the range whose trials have the same next epoch.
fn of_one_epoch(attempts: &BTreeMap<u64, u32>, range: &Range<u64>) -> (Range<u64>, u32) {
    let next = |trial: u64| attempts.get(&trial).copied().unwrap_or(0) + 1;
    let epoch = next(range.start);
    let end = range.clone().find(|trial| next(*trial) != epoch).unwrap_or(range.end);
    (range.start..end, epoch)
}
