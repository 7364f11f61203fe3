//! The trials of one run: which wait, in which queue, and which epoch comes next.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use record::summary::RunState;
use store::{Lease, Recovered};

use super::{
    Work,
    lanes::{Lanes, Place, numbers_of},
    pieces::{length, of_one_epoch, take_within},
    poison::{Circumstances, Suspects},
    ranges::Ranges,
    unrest::Loss,
    unwanted::Unwanted,
};

/// How many trials a session can take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Trials that begin in free slots, now or when one becomes free.
    pub(super) slots: u64,
    /// Slots that are free now.
    pub(super) idle: u64,
    /// Arrivals that wait until they are due.
    pub(super) ahead: u64,
    pub(super) place: Place,
}

/// A trial that its worker did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unended {
    pub(super) trial: u64,
    /// As far as its worker said.
    pub(super) begun: bool,
}

#[derive(Debug)]
pub(super) struct Run {
    /// A worker must have all of them configured to play the run.
    pub(super) agents: BTreeSet<String>,
    /// Leased, or poisoned and not stored as ended yet.
    pub(super) leased: u64,
    /// Attempts that had begun and were lost.
    pub(super) lost_attempts: u64,
    /// Nothing more is leased; the run is over when nothing is leased any more.
    pub(super) draining: bool,
    /// Nothing more is leased until it continues.
    paused: bool,
    /// Never leased. Of a run with a load they are in its lanes.
    fresh: Ranges,
    pub(super) lanes: Option<Lanes>,
    /// Given back or lost. They go first, since the run waits longest for them.
    returned: Ranges,
    /// Ended for now, to be played again. They go last, so that the fault that broke them has time to pass, unless
    /// `again_first`.
    again: Ranges,
    again_first: bool,
    /// Lost so often that they are played last, on a worker that plays nothing else.
    suspects: Suspects,
    /// The last used-up epoch of each trial that is not done.
    attempts: BTreeMap<u64, u32>,
    poisoned: BTreeSet<u64>,
    pub(super) unwanted: Unwanted,
}

impl Run {
    pub(super) fn new(work: Work, agents: BTreeSet<String>, recovered: &Recovered, now: Duration) -> Self {
        let again_first = matches!(work, Work::Rounds(_));
        let (fresh, lanes) = match work {
            Work::Trials(planned) | Work::Rounds(planned) => (Ranges::of(0..planned), None),
            Work::Load { schedule, elapsed } => (Ranges::default(), Some(Lanes::new(schedule, elapsed, now))),
        };
        let is_done = |trial: u64| recovered.done.iter().any(|done| done.contains(&trial));
        let losses = recovered.losses.iter().filter(|losses| !is_done(losses.number)).copied();
        let mut run = Self {
            agents,
            leased: 0,
            lost_attempts: recovered.lost_attempts,
            draining: false,
            paused: false,
            fresh,
            lanes,
            returned: Ranges::default(),
            again: Ranges::default(),
            again_first,
            suspects: Suspects::recovered(losses),
            attempts: recovered.attempts.iter().copied().collect(),
            poisoned: BTreeSet::new(),
            unwanted: Unwanted::default(),
        };
        for done in &recovered.done {
            run.remove_fresh(done.clone());
            run.attempts.retain(|trial, _| !done.contains(trial));
        }
        let attempted: Vec<u64> = run.attempts.keys().copied().collect();
        for trial in attempted {
            run.remove_fresh(trial..trial + 1);
            if run.suspects.is_poisonous(trial) {
                run.poisoned.insert(trial);
                run.add_leased(&(trial..trial + 1));
            } else if !run.suspects.is_suspect(trial) {
                run.returned.insert(trial..trial + 1);
            }
        }
        run
    }

    fn remove_fresh(&mut self, trials: Range<u64>) {
        self.fresh.remove(trials.clone());
        if let Some(lanes) = &mut self.lanes {
            lanes.remove(trials);
        }
    }

    /// Gives up trials that wait. What a worker holds it plays, unless it gives it back.
    pub(super) fn stop_wanting(&mut self, trials: &[u64]) {
        for trial in trials.iter().copied() {
            self.remove_fresh(trial..trial + 1);
            let queues = [&mut self.returned, &mut self.again].into_iter().chain(self.suspects.queues());
            queues.for_each(|queue| queue.remove(trial..trial + 1));
            self.unwanted.add(trial);
        }
        self.suspects.forget_empty();
    }

    fn add_leased(&mut self, trials: &Range<u64>) {
        self.leased += trials.end - trials.start;
        if let Some(lanes) = &mut self.lanes {
            lanes.add_leased(trials);
        }
    }

    fn remove_leased(&mut self, trial: u64) {
        self.leased -= 1;
        if let Some(lanes) = &mut self.lanes {
            lanes.remove_leased(trial);
        }
    }

    /// Poisoned trials whose end the last process did not store.
    pub(super) fn poisoned_already(&self) -> Vec<u64> {
        self.poisoned.iter().copied().collect()
    }

    /// Takes over a lease that was live before a restart and returns those of its trials that wait.
    pub(super) fn adopt(&mut self, lease: &Lease) -> Vec<u64> {
        let attempts = &self.attempts;
        // A trial that ended and is played again waits for another epoch.
        let is_same = |trial: &u64| attempts.get(trial).copied().unwrap_or(0) + 1 == lease.epoch;
        let mut adopted = Vec::new();
        let of_lanes = self.lanes.iter_mut().flat_map(Lanes::queues);
        let queues = [&mut self.fresh, &mut self.returned].into_iter().chain(of_lanes);
        for queue in queues.chain(self.suspects.queues()) {
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
        adopted.iter().for_each(|trial| self.add_leased(&(*trial..trial + 1)));
        adopted
    }

    /// Whether trials can be leased at all.
    pub(super) fn takes_more(&self) -> bool {
        !self.draining && !self.paused && !self.unwanted.is_all()
    }

    /// Whether workers give back what they have not begun.
    pub(super) fn is_stopping(&self) -> bool {
        self.draining || self.unwanted.is_all()
    }

    pub(super) fn pause(&mut self, paused: bool, now: Duration) {
        self.paused = paused;
        if let Some(lanes) = &mut self.lanes {
            lanes.pause(paused || self.draining, now);
        }
    }

    /// Nothing more is leased, and the time of a load stands still.
    pub(super) fn drain(&mut self, now: Duration) {
        self.draining = true;
        if let Some(lanes) = &mut self.lanes {
            lanes.pause(true, now);
        }
    }

    /// It is played on instead.
    pub(super) fn undrain(&mut self, now: Duration) {
        self.draining = false;
        if let Some(lanes) = &mut self.lanes {
            lanes.pause(self.paused, now);
        }
    }

    /// How many trials can be leased now, suspects not included.
    pub(super) fn waiting(&self, now: Duration) -> u64 {
        if !self.takes_more() {
            return 0;
        }
        let of_lanes = self.lanes.as_ref().map_or(0, |lanes| lanes.available(now));
        self.returned.count() + self.fresh.count() + of_lanes + self.again.count()
    }

    /// Whether no trial is fresh any more, now or later.
    fn no_more_fresh(&self, now: Duration) -> bool {
        self.fresh.count() == 0 && self.lanes.as_ref().is_none_or(|lanes| lanes.are_over(now))
    }

    /// The epoch of the trial's next attempt.
    pub(super) fn epoch(&self, trial: u64) -> u32 {
        self.attempts.get(&trial).copied().unwrap_or(0) + 1
    }

    pub(super) fn is_suspect(&self, trial: u64) -> bool {
        self.suspects.is_suspect(trial)
    }

    /// Whether suspects are next: healthy trials go first. So a session never gives up arrivals to play suspects alone.
    pub(super) fn has_suspects(&self, now: Duration, calm: bool) -> bool {
        self.takes_more() && self.waiting(now) == 0 && self.no_more_fresh(now) && self.suspects.are_ready(now, calm)
    }

    /// Whether any trial can be leased, now or after a pause.
    pub(super) fn has_work(&self, now: Duration) -> bool {
        self.waiting(now) > 0 || (self.takes_more() && self.suspects.count() > 0)
    }

    /// At most `most` trials of one group of suspects, in at most `pieces` ranges of equal epochs, and the group's
    /// losses.
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
        taken.iter().for_each(|(piece, _)| self.add_leased(piece));
        (taken, lost_with)
    }

    /// Takes trials in at most `pieces` ranges of equal epochs, as far as the session has room.
    pub(super) fn take(&mut self, room: Room, pieces: usize, now: Duration) -> Vec<(Range<u64>, u32)> {
        let taken = match &self.lanes {
            _ if !self.takes_more() => Vec::new(),
            None => self.take_any(room.slots, pieces),
            Some(lanes) => {
                let mut taken = Vec::new();
                for lane in 0..lanes.count() {
                    let left = pieces.saturating_sub(taken.len());
                    taken.extend(self.take_of_lane(lane, room, &taken, left, now));
                }
                taken
            }
        };
        taken.iter().for_each(|(piece, _)| self.add_leased(piece));
        taken
    }

    /// Of a run with a load. `taken`: of other lanes, for the same session.
    fn take_of_lane(
        &mut self,
        lane: usize,
        room: Room,
        taken: &[(Range<u64>, u32)],
        pieces: usize,
        now: Duration,
    ) -> Vec<(Range<u64>, u32)> {
        let Some(lanes) = &mut self.lanes else { return Vec::new() };
        let open = lanes.is_open(lane);
        let alike = taken.iter().filter(|(piece, _)| lanes.is_open_number(piece.start) == open);
        let gone: u64 = alike.map(|(piece, _)| piece.end - piece.start).sum();
        // A trial that waits with a busy session takes the place of one that another session could play.
        let slots = if room.place.slots < room.place.of { room.slots.min(room.idle) } else { room.slots };
        // What the session took from other lanes takes its room, and not that of this lane.
        let most = if open { room.ahead } else { slots }.saturating_sub(gone);
        let most = if open { most } else { most.min(lanes.room(lane, now)) };
        let mut left = most;
        let mut of_lane = take_within(&mut self.returned, &self.attempts, numbers_of(lane), left, pieces);
        left -= length(&of_lane);
        let fresh = match pieces - of_lane.len() {
            0 => Vec::new(),
            pieces if open => lanes.take_arrivals(lane, left, pieces, room.place, now),
            _ => lanes.take_for_slots(lane, left, now).into_iter().collect(),
        };
        of_lane.extend(fresh.into_iter().map(|piece| (piece, 1)));
        left = most - length(&of_lane);
        let pieces = pieces - of_lane.len();
        of_lane.extend(take_within(&mut self.again, &self.attempts, numbers_of(lane), left, pieces));
        of_lane
    }

    fn take_any(&mut self, most: u64, pieces: usize) -> Vec<(Range<u64>, u32)> {
        let mut taken = Vec::new();
        let mut left = most;
        while left > 0 && taken.len() < pieces {
            let attempts = &self.attempts;
            let first = |queue: &mut Ranges| take_within(queue, attempts, 0..u64::MAX, left, 1).pop();
            let mut next = first(&mut self.returned);
            if self.again_first {
                next = next.or_else(|| first(&mut self.again));
            }
            next = next.or_else(|| Some((self.fresh.take_first(left)?, 1))).or_else(|| first(&mut self.again));
            let Some((piece, epoch)) = next else { break };
            left -= piece.end - piece.start;
            taken.push((piece, epoch));
        }
        taken
    }

    /// Takes back trials that had not begun.
    pub(super) fn give_back(&mut self, trials: &[u64], now: Duration) {
        self.take_back(trials, &Circumstances::default(), now);
    }

    fn take_back(&mut self, trials: &[u64], how: &Circumstances, now: Duration) {
        trials.iter().for_each(|trial| self.remove_leased(*trial));
        let wanted = trials.iter().filter(|trial| !self.unwanted.has(**trial));
        let (suspects, others): (Vec<u64>, Vec<u64>) = wanted.partition(|trial| self.is_suspect(**trial));
        self.suspects.add_back(&suspects, how, now);
        for trial in others {
            let never_began = !self.attempts.contains_key(&trial);
            if !never_began || !self.lanes.as_mut().is_some_and(|lanes| lanes.give_back(trial)) {
                self.returned.insert(trial..trial + 1);
            }
        }
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
        suspects.iter().for_each(|trial| self.remove_leased(*trial));
        suspects.retain(|trial| !self.unwanted.has(*trial));
        self.suspects.add_lost(&suspects, how, now);
        self.take_back(&others, how, now);
        poisoned
    }

    /// The store has counted the trial.
    pub(super) fn end(&mut self, trial: u64) {
        self.remove_leased(trial);
        self.poisoned.remove(&trial);
        self.attempts.remove(&trial);
        self.suspects.clear(trial);
    }

    /// The trial has ended, is stored, and will be played again.
    pub(super) fn end_for_now(&mut self, trial: u64) {
        self.remove_leased(trial);
        *self.attempts.entry(trial).or_default() += 1;
        self.suspects.clear(trial);
        if !self.unwanted.has(trial) {
            self.again.insert(trial..trial + 1);
        }
    }

    /// How the run ended, if it did.
    pub(super) fn over(&self, now: Duration) -> Option<RunState> {
        let waiting = self.returned.count() + self.again.count() + self.suspects.count();
        if self.leased + waiting == 0 && self.no_more_fresh(now) || self.unwanted.is_all() && self.leased == 0 {
            Some(RunState::Finished)
        } else if self.draining && self.leased == 0 {
            Some(RunState::Interrupted)
        } else {
            None
        }
    }
}
