//! Poison trials: trials that crash their worker. They are found by halving, after all healthy trials have been played.
//!
//! A lost worker is no evidence against one trial: it may have been killed. So a trial that was lost twice is only a
//! suspect. Suspects that were lost together are leased as one group, to a worker that plays nothing else. A group that is
//! lost again is halved, down to one trial. It is not halved while other workers are lost too: then something else
//! brings them down, and halves would be played one after the other for nothing. A trial is poisoned when three times it
//! was alone with its worker, that worker was lost, and no other worker was lost shortly before or meanwhile.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    time::Duration,
};

use store::Losses;

use super::{ranges::Ranges, unrest::Loss};

/// A trial with this many lost attempts that had begun is a suspect. One loss is common: a killed worker holds hundreds.
const LOSSES: u32 = 2;
/// The same limit for all lost attempts: a trial that crashes its worker at once may never be reported as begun.
const LOSSES_UNSEEN: u32 = 4;
/// A trial that crashed this many workers, with proof, is not played again.
const PROOFS_OF_POISON: u32 = 3;
/// A restart halves groups with this many lost attempts: the group may be crashing coordinators.
const LOSSES_OF_HALVES: u32 = 6;
/// How long a single suspect waits at most until no worker was lost for a while.
const REST: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// The losses of trials that are not done, since they last ended.
    losses: BTreeMap<u64, Losses>,
    groups: VecDeque<Group>,
}

/// Trials that are leased together, to a worker that plays nothing else.
#[derive(Debug)]
struct Group {
    trials: Ranges,
    /// Not leased before this, unless no worker was lost for a while.
    rests_until: Duration,
    /// Its losses, also as a part of larger groups.
    lost_with: Vec<Loss>,
    /// The trials were not lost together.
    loose: bool,
}

/// How a group was leased, and what its loss proves.
#[derive(Debug, Clone, Default)]
pub(super) struct Circumstances {
    /// The losses of the group, including the last one.
    pub(super) lost_with: Vec<Loss>,
    /// It was one trial.
    pub(super) alone: bool,
    /// No other worker was lost at that time: one of the group crashes workers.
    pub(super) halves: bool,
    /// It was one trial, and it crashes workers.
    pub(super) proof: bool,
}

impl Suspects {
    /// After a restart: trials that were last lost with the same session are one group.
    pub(super) fn recovered(losses: impl IntoIterator<Item = Losses>) -> Self {
        let mut suspects = Self::default();
        let mut together: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for one in losses {
            suspects.losses.insert(one.number, one);
            if suspects.is_suspect(one.number) && !suspects.is_poisonous(one.number) {
                together.entry(one.session).or_default().push(one.number);
            }
        }
        for trials in together.into_values() {
            let losses =
                |trial: &u64| suspects.losses.get(trial).is_some_and(|losses| losses.begun >= LOSSES_OF_HALVES);
            let halves = trials.iter().any(losses);
            suspects.add_lost(&trials, &Circumstances { halves, ..Circumstances::default() }, Duration::ZERO);
        }
        suspects
    }

    pub(super) fn is_suspect(&self, trial: u64) -> bool {
        self.losses.get(&trial).is_some_and(|losses| losses.begun >= LOSSES || losses.all >= LOSSES_UNSEEN)
    }

    pub(super) fn is_poisonous(&self, trial: u64) -> bool {
        self.losses.get(&trial).is_some_and(|losses| losses.proof >= PROOFS_OF_POISON)
    }

    /// Trials that wait.
    pub(super) fn count(&self) -> u64 {
        self.groups.iter().map(|group| group.trials.count()).sum()
    }

    /// Whether a group may be leased now.
    pub(super) fn are_ready(&self, now: Duration, calm: bool) -> bool {
        self.groups.iter().any(|group| calm || group.rests_until <= now)
    }

    /// The trial was lost with its worker.
    pub(super) fn lose(&mut self, number: u64, begun: bool, proof: bool) {
        let losses = self.losses.entry(number).or_insert(Losses { number, begun: 0, all: 0, proof: 0, session: 0 });
        losses.begun += u32::from(begun);
        losses.all += 1;
        losses.proof += u32::from(proof);
    }

    /// The trial has ended, so it does not crash workers.
    pub(super) fn clear(&mut self, trial: u64) {
        self.losses.remove(&trial);
    }

    /// Trials that were lost together after they had begun, ascending.
    pub(super) fn add_lost(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        let rests_until = if how.alone { now + REST } else { now };
        if !how.halves && !how.alone {
            return self.add_loose(trials, how, now);
        }
        for trials in trials.chunks(trials.len().div_ceil(2).max(1)) {
            let (trials, lost_with) = (of(trials), how.lost_with.clone());
            self.groups.push_back(Group { trials, rests_until, lost_with, loose: false });
        }
    }

    /// Adds suspects that did not crash their worker.
    pub(super) fn add_back(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        self.add_loose(trials, how, now);
    }

    /// Adds them to the last such group: more groups would take longer.
    fn add_loose(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        if trials.is_empty() {
            return;
        }
        if let Some(last) = self.groups.back_mut().filter(|group| group.loose) {
            trials.iter().for_each(|trial| last.trials.insert(*trial..trial + 1));
            last.lost_with.extend(&how.lost_with);
            return;
        }
        let lost_with = how.lost_with.clone();
        self.groups.push_back(Group { trials: of(trials), rests_until: now, lost_with, loose: true });
    }

    /// Some ranges of one group, and the group's losses; the rest of the group is next. `piece` cuts each range to the
    /// size of a lease.
    pub(super) fn take(
        &mut self,
        most: u64,
        pieces: usize,
        now: Duration,
        calm: bool,
        piece: impl Fn(&Range<u64>) -> Range<u64>,
    ) -> (Vec<Range<u64>>, Vec<Loss>) {
        let ready = self.groups.iter().position(|group| calm || group.rests_until <= now);
        let Some(mut group) = ready.and_then(|index| self.groups.remove(index)) else {
            return Default::default();
        };
        let lost_with = group.lost_with.clone();
        let mut taken: Vec<Range<u64>> = Vec::new();
        let mut left = most;
        while left > 0
            && taken.len() < pieces
            && let Some(range) = group.trials.take_first(left)
        {
            let cut = piece(&range);
            group.trials.insert(cut.end..range.end);
            left -= cut.end - cut.start;
            taken.push(cut);
        }
        if group.trials.count() > 0 {
            self.groups.push_front(group);
        }
        (taken, lost_with)
    }

    /// The queues of all groups, to take trials out of them.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut Ranges> {
        self.groups.iter_mut().map(|group| &mut group.trials)
    }

    /// Drops empty groups after trials were taken out.
    pub(super) fn forget_empty(&mut self) {
        self.groups.retain(|group| group.trials.count() > 0);
    }
}

fn of(trials: &[u64]) -> Ranges {
    let mut ranges = Ranges::default();
    trials.iter().for_each(|trial| ranges.insert(*trial..trial + 1));
    ranges
}
