//! The trials of a load: what became of arrivals, and how far their starts kept to the schedule.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use scenario::load::{Lane, Schedule, Step, lane_and_local};

use super::Counts;
use crate::{FailureKind, Trial, Usd, call::Spend, histogram::Histogram};

/// The number of time slices of a load, at most, roughly.
const SLICES: u32 = 60;
/// Slices of a step of a search.
const IN_A_STEP: u64 = 5;

/// The fold of the trials of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadTally {
    schedule: Arc<Schedule>,
    steps: Arc<[Step]>,
    /// By lane.
    pub lanes: BTreeMap<usize, LaneCounts>,
    /// How late arrivals started, first attempts only.
    pub late: Histogram,
    /// By the number of the slice.
    pub slices: BTreeMap<u64, SliceCounts>,
    /// By the number of the step.
    pub by_step: BTreeMap<usize, StepTally>,
    /// Of the conversations of the warm-up, winning attempts.
    pub warm_up_spend: Spend,
}

/// The conversations that were due in a step, or began in a slot in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepTally {
    pub ends: Counts,
    pub dropped: u64,
    /// How late arrivals started, first attempts only.
    pub late: Histogram,
    /// Those with a simulated user, and those of them in which it made a critical fault.
    pub simulated: u64,
    pub simulator_faults: u64,
    pub turns: u64,
    pub unanswered: u64,
    pub response: Histogram,
    pub service: Histogram,
    pub ttft: Histogram,
    pub cost: Usd,
    pub unpriced_calls: u64,
}

/// What became of the trials of a load group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneCounts {
    /// The agent was asked.
    pub sent: u64,
    /// No slot was free in time, so the agent was not asked.
    pub dropped: u64,
    /// Those of `dropped` that were due in the warm-up.
    pub dropped_in_warm_up: u64,
    /// Neither: workers crashed while they played it.
    pub lost: u64,
    /// Those of `sent` that were leased again, because their worker was lost or their first attempt broke: they count for quality
    /// and not for latency.
    pub rescheduled: u64,
    /// Those of all that began in the warm-up.
    pub warm_up: u64,
    /// Those that no other figure has.
    pub apart: u64,
}

/// Starts in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SliceCounts {
    /// Conversations that started in it, in all groups; of one that was leased again, the attempt that counts.
    pub started: u64,
    /// Those of `started` that a slot started, which no time had offered before.
    pub in_slots: u64,
    /// Arrivals that were due in it and were dropped.
    pub dropped: u64,
}

/// Which figures of a run have a trial of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Quality, latency and all others.
    Whole,
    /// Quality, and not latency: it started later than its arrival was due.
    Quality,
    /// Only those of the load: it was dropped after the warm-up.
    Dropped,
    /// None: it belongs to the warm-up.
    Apart,
}

impl LoadTally {
    #[must_use]
    pub fn of(schedule: Arc<Schedule>) -> Self {
        let steps = schedule.steps().into();
        Self {
            schedule,
            steps,
            lanes: BTreeMap::new(),
            late: Histogram::default(),
            slices: BTreeMap::new(),
            by_step: BTreeMap::new(),
            warm_up_spend: Spend::default(),
        }
    }

    /// A rate or the slots were changed. Nothing that was counted so far is due after the change.
    pub fn reschedule(&mut self, schedule: Arc<Schedule>) {
        self.steps = schedule.steps().into();
        self.schedule = schedule;
    }

    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How many trials no other figure has.
    #[must_use]
    pub fn apart(&self) -> u64 {
        self.lanes.values().map(|lane| lane.apart).sum()
    }

    /// How long a time slice is.
    #[must_use]
    pub fn slice(&self) -> Duration {
        // A search ends when it knows enough, and its slices must not change then.
        let seconds = match self.schedule.search() {
            Some(search) => Duration::from_micros(search.settle_micros + search.every_micros).as_secs() / IN_A_STEP,
            None => self.schedule.ends().unwrap_or_default().as_secs().div_ceil(u64::from(SLICES)),
        };
        Duration::from_secs(seconds.max(1))
    }

    fn slice_of(&self, at: Duration) -> u64 {
        u64::try_from(at.as_micros() / self.slice().as_micros()).unwrap_or(u64::MAX)
    }

    /// The step of a trial; `None`: it is due between two steps.
    fn step_of(&self, due: Option<Duration>, started: Option<Duration>) -> Option<usize> {
        let at = due.or(started)?;
        let number = self.steps.partition_point(|step| step.from <= at).checked_sub(1)?;
        // A slot may start its last conversation a moment after the end of its step.
        let is_over =
            due.is_some() && self.steps.get(number).and_then(|step| step.until).is_some_and(|until| at >= until);
        (!is_over).then_some(number)
    }

    /// Counts a trial, and says which other figures have it.
    pub fn add(&mut self, trial: &Trial) -> Counted {
        let (index, local) = lane_and_local(trial.number);
        let open = self.schedule.lanes().get(index).filter(|lane| lane.is_open());
        let due = open.and_then(|lane| lane.due(local));
        let started = trial.start.map(|start| Duration::from_micros(start.at_micros));
        let kind = trial.failure.as_ref().map(|failure| failure.kind);
        let dropped = kind == Some(FailureKind::Dropped);
        let rescheduled = open.is_some() && trial.epoch > 1;
        let warm_up = due.or(started).is_some_and(|at| self.schedule.is_warm_up(at));
        if dropped && let Some(due) = due {
            let slice = self.slice_of(due);
            self.slices.entry(slice).or_default().dropped += 1;
        }
        // Without arrivals, nothing is offered over time.
        let has_arrivals = self.schedule.lanes().iter().any(Lane::is_open);
        if let Some(start) = trial.start.filter(|_| has_arrivals) {
            let slice = self.slice_of(Duration::from_micros(start.at_micros));
            let counts = self.slices.entry(slice).or_default();
            counts.started += 1;
            counts.in_slots += u64::from(open.is_none());
            if open.is_some() && !warm_up && !rescheduled {
                self.late.record(start.late_micros);
            }
        }
        if let (Some(step), false) = (self.step_of(due, started), warm_up) {
            self.by_step.entry(step).or_default().add(trial, dropped, rescheduled);
        }
        let lane = self.lanes.entry(index).or_default();
        match kind {
            _ if dropped => lane.dropped += 1,
            Some(FailureKind::Poisoned) => lane.lost += 1,
            _ => lane.sent += 1,
        }
        lane.rescheduled += u64::from(rescheduled && kind != Some(FailureKind::Poisoned));
        lane.warm_up += u64::from(warm_up);
        lane.dropped_in_warm_up += u64::from(dropped && warm_up);
        lane.apart += u64::from(dropped || warm_up);
        if warm_up {
            self.warm_up_spend.add(&trial.spend);
        }
        match () {
            () if warm_up => Counted::Apart,
            () if dropped => Counted::Dropped,
            () if rescheduled => Counted::Quality,
            () => Counted::Whole,
        }
    }

    /// `other` is a fold of the same load.
    pub fn merge(&mut self, other: &Self) {
        for (index, counts) in &other.lanes {
            self.lanes.entry(*index).or_default().merge(counts);
        }
        self.late.merge(&other.late);
        for (slice, counts) in &other.slices {
            let own = self.slices.entry(*slice).or_default();
            own.started += counts.started;
            own.in_slots += counts.in_slots;
            own.dropped += counts.dropped;
        }
        for (step, tally) in &other.by_step {
            self.by_step.entry(*step).or_default().merge(tally);
        }
        self.warm_up_spend.add(&other.warm_up_spend);
    }
}

impl StepTally {
    fn add(&mut self, trial: &Trial, dropped: bool, rescheduled: bool) {
        if dropped {
            self.dropped += 1;
            return;
        }
        self.ends.add(trial);
        if let Some(start) = trial.start.filter(|_| !rescheduled) {
            self.late.record(start.late_micros);
        }
        if let Some(user) = trial.user.as_deref() {
            self.simulated += 1;
            self.simulator_faults += u64::from(user.despite_fault.is_some());
        }
        self.turns += u64::from(trial.turns);
        self.unanswered += u64::from(trial.unanswered);
        self.cost += trial.spend.cost();
        self.unpriced_calls += trial.spend.unpriced_calls();
        // What began later than it was due has no response time, as in all other figures.
        for turn in trial.latencies.iter().filter(|_| !rescheduled) {
            self.service.record(turn.total_micros);
            if let Some(response) = turn.response_micros {
                self.response.record(response);
            }
            if let Some(ttft) = turn.ttft_micros {
                self.ttft.record(ttft);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.ends.merge(&other.ends);
        self.dropped += other.dropped;
        self.late.merge(&other.late);
        self.simulated += other.simulated;
        self.simulator_faults += other.simulator_faults;
        self.turns += other.turns;
        self.unanswered += other.unanswered;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.ttft.merge(&other.ttft);
        self.cost += other.cost;
        self.unpriced_calls += other.unpriced_calls;
    }
}

impl LaneCounts {
    pub fn merge(&mut self, other: &Self) {
        let Self { sent, dropped, dropped_in_warm_up, lost, rescheduled, warm_up, apart } = *other;
        self.sent += sent;
        self.dropped += dropped;
        self.dropped_in_warm_up += dropped_in_warm_up;
        self.lost += lost;
        self.rescheduled += rescheduled;
        self.warm_up += warm_up;
        self.apart += apart;
    }

    /// How many ended, one way or another.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.sent + self.dropped + self.lost
    }
}
