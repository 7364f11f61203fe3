//! Trials that may bring workers down: they are found by halving, and played after all that is healthy.
//!
//! A worker that is lost says nothing of a single trial: somebody may have killed it. So a trial that was lost twice is a
//! suspect and no more. Those that were lost together are played as one group that has a worker for itself. A group
//! that is lost is halved, down to one trial, but not while workers are lost that played none of it: then somebody
//! else brings them down, and pieces would be played one after the other for nothing. A trial is poisoned when it was
//! alone with its worker, that worker was lost, and no other was lost before it for a while or meanwhile, three times.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    time::Duration,
};

use store::Losses;

use super::{ranges::Ranges, unrest::Loss};

/// From this many lost attempts that had begun on, a trial is a suspect.
const LOSSES: u32 = 2;
/// The same of all attempts that were lost: one that brings its worker down at once may never be said to have begun.
const LOSSES_UNSEEN: u32 = 4;
/// A trial that brought its worker down so often, and nothing else can have, is not played again.
const PROOFS_OF_POISON: u32 = 3;
/// From this many lost attempts on, what a restart finds of a group is halved: it may be what brings coordinators down.
const LOSSES_OF_HALVES: u32 = 6;
/// How long a single trial that was lost waits for calm, at most.
const REST: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Of trials that are not done and were lost since they last ended.
    losses: BTreeMap<u64, Losses>,
    groups: VecDeque<Group>,
}

/// Trials that are played together, with nothing besides.
#[derive(Debug)]
struct Group {
    trials: Ranges,
    /// It is not lent before, unless all is calm.
    rests_until: Duration,
    /// With these workers it was lost, as a part of larger groups too.
    lost_with: Vec<Loss>,
    /// Nothing speaks for the trials being together.
    loose: bool,
}

/// What a group was lent as, and what is known of its loss.
#[derive(Debug, Clone, Default)]
pub(super) struct Circumstances {
    /// The losses of the group, the last one too.
    pub(super) lost_with: Vec<Loss>,
    /// It was one trial.
    pub(super) alone: bool,
    /// Nobody else was lost at that time: one of the group does it.
    pub(super) halves: bool,
    /// The one trial that was there does it.
    pub(super) proof: bool,
}

impl Suspects {
    /// As the store knows them: those that were lost last with the same session are one group.
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

    /// Whether a group may be lent now.
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

    /// It has ended, so it brought nothing down.
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

    /// Trials that cannot have brought down whoever held them.
    pub(super) fn add_back(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        self.add_loose(trials, how, now);
    }

    /// With others of that kind: each group more is played after the others.
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

    /// Some ranges of one group, and the losses of that; what is left of it is the next. Each range is cut by `piece` to
    /// what fits a lease.
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

    /// The groups, for whoever takes trials out of them.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut Ranges> {
        self.groups.iter_mut().map(|group| &mut group.trials)
    }

    /// After trials were taken out.
    pub(super) fn forget_empty(&mut self) {
        self.groups.retain(|group| group.trials.count() > 0);
    }
}

fn of(trials: &[u64]) -> Ranges {
    let mut ranges = Ranges::default();
    trials.iter().for_each(|trial| ranges.insert(*trial..trial + 1));
    ranges
}
