//! When the trials of a load start: pure functions of the plan, the same on every worker.
//!
//! People change rates and slots while a run plays ([`Schedule::set_rate`], [`Schedule::set_slots`]). Arrival `n` stays the same
//! trial: its place on the axis of the unit rate does not move, and only the time that this axis gives it changes.

mod searching;

use std::time::Duration;

use super::{
    Load, LoadGroup, Step,
    arrivals::{Arrivals, BLOCK},
    pace::{Pace, most_arrivals},
    profile::{Inverse, MOST_VALUE, Profile},
    search::Searching,
};
use crate::draws::key;

/// When the trials of a load start. Times count from the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    lanes: Vec<Lane>,
    warm_up: Duration,
    drop_after: Duration,
    /// The steps before the last change: later changes move none of them.
    settled: Vec<Step>,
    settled_until: Duration,
    search: Option<Searching>,
}

/// From a time on, the arrivals of a lane have another rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// From the start of the run.
    pub from: Duration,
    /// Starts a second until the end of the lane.
    pub rate: f64,
}

/// When the trials of one load group start.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    name: String,
    starts: Starts,
    /// Changes of its rate, in order.
    rates: Vec<RateChange>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Starts {
    Slots {
        slots: Profile,
        /// Slots times seconds.
        area: Inverse,
        trials: Option<u64>,
        ends: Option<Duration>,
    },
    Arrivals(Arrivals),
    /// Microseconds from the start.
    Trace(Vec<u64>),
}

impl Schedule {
    pub(super) fn of(load: &Load, seed: u64) -> Self {
        let lanes = load.groups.iter().enumerate().map(|(lane, group)| Lane::of(group, lane, seed)).collect();
        let warm_up = Duration::from_micros(load.warm_up_micros);
        let drop_after = Duration::from_micros(load.drop_after_micros);
        let search = load.search.map(|search| Searching::from(search, warm_up));
        Self { lanes, warm_up, drop_after, settled: Vec::new(), settled_until: Duration::ZERO, search }
    }

    /// From a time on, a lane with a rate has this one until its end, whatever its pace says. Arrivals that are due earlier
    /// keep their times. Changes nothing where [`Lane::refuses_rate`] says why.
    pub fn set_rate(&mut self, lane: usize, change: RateChange) {
        let fits = |lane: &&Lane| lane.refuses_rate(change).is_none();
        let Some(changed) = self.lanes.get(lane).filter(fits).map(|lane| lane.with_rates(&[change])) else { return };
        self.settle(change.from);
        if let Some(lane) = self.lanes.get_mut(lane) {
            *lane = changed;
        }
    }

    /// From a time on, a closed lane has so many slots, whatever its pace says. Past its end they are for what is played again.
    pub fn set_slots(&mut self, lane: usize, slots: u32, from: Duration) {
        let Some(ends) = self.lanes.get(lane).filter(|lane| !lane.is_open()).map(Lane::ends) else { return };
        let from = ends.map_or(from, |ends| from.min(ends.saturating_sub(Duration::from_micros(1))));
        self.settle(from);
        if let Some(Lane { starts: Starts::Slots { slots: profile, area, .. }, .. }) = self.lanes.get_mut(lane) {
            profile.change(micros(from), f64::from(slots));
            *area = Inverse::of(profile);
        }
    }

    /// Keeps the steps before a change as they are.
    fn settle(&mut self, from: Duration) {
        let mut settled = self.steps();
        settled.retain(|step| step.from < from);
        if let Some(last) = settled.last_mut().filter(|last| last.until.is_none_or(|until| until > from)) {
            *last = self.step(last.from, Some(from));
        }
        (self.settled, self.settled_until) = (settled, from);
    }

    pub(super) fn settled(&self) -> (&[Step], Duration) {
        (&self.settled, self.settled_until)
    }

    /// One for each load group, in their order.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Whether what starts at this time is left out of the figures. `at`: the time when an arrival is due, or when a slot
    /// started the trial.
    #[must_use]
    pub fn is_warm_up(&self, at: Duration) -> bool {
        at < self.warm_up
    }

    /// What starts before this time is left out of the figures.
    #[must_use]
    pub fn warm_up(&self) -> Duration {
        self.warm_up
    }

    /// How long an arrival waits for a free slot before it is dropped.
    #[must_use]
    pub fn drop_after(&self) -> Duration {
        self.drop_after
    }

    /// The number of trials of all lanes; `None`: a lane plays as many as fit until its end, or a search is not over.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        if self.is_searching() {
            return None;
        }
        self.lanes.iter().try_fold(0_u64, |sum, lane| sum.checked_add(lane.count()?))
    }

    /// How many conversations the closed paces ask for at a time, all lanes together.
    #[must_use]
    pub fn slots_at(&self, time: Duration) -> u64 {
        self.lanes.iter().map(|lane| lane.asked_at(time, 0)).sum()
    }

    /// The most conversations at once that the closed paces ask for.
    #[must_use]
    pub fn most_slots(&self) -> u64 {
        // Between two marks all lanes are straight lines.
        let marks = self.lanes.iter().filter(|lane| !lane.is_open()).flat_map(Lane::marks);
        let times = marks.flat_map(|mark| [mark.saturating_sub(1), mark]).chain([0]);
        times.map(|time| self.slots_at(Duration::from_micros(time))).max().unwrap_or(0)
    }

    /// When the last lane starts nothing any more; `None`: only the number of its trials ends a lane.
    #[must_use]
    pub fn ends(&self) -> Option<Duration> {
        self.lanes.iter().try_fold(Duration::ZERO, |last, lane| Some(last.max(lane.ends()?)))
    }
}

impl Lane {
    fn of(group: &LoadGroup, lane: usize, seed: u64) -> Self {
        let starts = match &group.pace {
            Pace::Slots { slots, trials, ends_micros } => {
                let area = Inverse::of(slots);
                Starts::Slots {
                    slots: slots.clone(),
                    area,
                    trials: *trials,
                    ends: ends_micros.map(Duration::from_micros),
                }
            }
            Pace::Arrivals { spacing, rate } => {
                let key = key(&[seed, lane as u64]);
                // Even groups of one rate would start in the same moments. The first keeps its first arrival at 0.
                let phase = if lane == 0 { 0.0 } else { (key >> 11) as f64 / (1_u64 << 53) as f64 };
                Starts::Arrivals(Arrivals::of(*spacing, rate, key, phase))
            }
            Pace::Trace { gaps_micros } => {
                let mut at = 0_u64;
                let due = |gap: &u64| {
                    at = at.saturating_add(*gap);
                    at
                };
                Starts::Trace(gaps_micros.iter().map(due).collect())
            }
        };
        Self { name: group.name.clone(), starts, rates: Vec::new() }
    }

    /// Whether its arrivals follow a rate.
    #[must_use]
    pub fn has_rate(&self) -> bool {
        matches!(self.starts, Starts::Arrivals(_))
    }

    /// Why a change of its rate is not possible; `None`: it is.
    #[must_use]
    pub fn refuses_rate(&self, RateChange { from, rate }: RateChange) -> Option<String> {
        let arrivals = match &self.starts {
            Starts::Slots { .. } => return Some("it plays in slots, not at a rate".to_owned()),
            Starts::Trace(_) => return Some("it starts at the times of a trace".to_owned()),
            Starts::Arrivals(arrivals) => arrivals,
        };
        if !(rate > 0.0 && rate <= MOST_VALUE) {
            return Some(format!("a rate of {rate}/s is not possible; more than 0/s and at most {MOST_VALUE}/s is"));
        }
        if from >= arrivals.ends {
            return Some("its last starts are on their way".to_owned());
        }
        let mut changed = arrivals.rate.clone();
        changed.change(micros(from), rate);
        let most = most_arrivals(arrivals.spacing);
        (changed.total >= most as f64).then(|| format!("until its end that would be more than {most} starts"))
    }

    /// The lane with changes that it does not refuse, in order.
    #[must_use]
    pub fn with_rates(&self, changes: &[RateChange]) -> Self {
        let mut lane = self.clone();
        if let Starts::Arrivals(arrivals) = &mut lane.starts {
            for change in changes {
                arrivals.rate.change(micros(change.from), change.rate);
                lane.rates.push(*change);
            }
            arrivals.count_again();
        }
        lane
    }

    /// Nothing starts from a time on.
    fn end_at(&mut self, end: Duration) {
        if let Starts::Arrivals(arrivals) = &mut self.starts
            && end < arrivals.ends
        {
            arrivals.rate.end_at(micros(end));
            arrivals.ends = end;
            arrivals.count_again();
        }
    }

    /// The changes of its rate so far.
    #[must_use]
    pub fn rates(&self) -> &[RateChange] {
        &self.rates
    }

    /// The name of its load group.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn starts(&self) -> &Starts {
        &self.starts
    }

    /// Whether its trials have times; otherwise they start in free slots.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.starts, Starts::Slots { .. })
    }

    /// When a trial is due; `None`: it starts in a free slot, or the lane has no such trial.
    ///
    /// Draws up to 64 gaps. [`Lane::dues`] draws each gap once.
    #[must_use]
    pub fn due(&self, local: u64) -> Option<Duration> {
        self.dues(local).next()
    }

    /// When the trials from `first` on are due. Empty for slots.
    pub fn dues(&self, first: u64) -> impl Iterator<Item = Duration> + '_ {
        let mut local = first;
        // The sum of the gaps before `local`.
        let mut sum = match &self.starts {
            Starts::Arrivals(arrivals) if first < arrivals.count => arrivals.sum_before(first),
            _ => 0,
        };
        std::iter::from_fn(move || {
            let micros = match &self.starts {
                Starts::Slots { .. } => return None,
                Starts::Trace(dues) => *dues.get(usize::try_from(local).ok()?)?,
                Starts::Arrivals(arrivals) => {
                    if local >= arrivals.count {
                        return None;
                    }
                    arrivals.next(local, &mut sum)
                }
            };
            local += 1;
            Some(Duration::from_micros(micros))
        })
    }

    /// How many trials are due before a time; 0 for slots.
    #[must_use]
    pub fn due_before(&self, time: Duration) -> u64 {
        match &self.starts {
            Starts::Slots { .. } => 0,
            Starts::Trace(dues) => dues.partition_point(|due| Duration::from_micros(*due) < time) as u64,
            Starts::Arrivals(arrivals) => {
                // The first arrival that is not due: by blocks, then within one.
                let is_due = |local: u64| self.due(local).is_some_and(|due| due < time);
                let (mut low, mut high) = (0, arrivals.count.div_ceil(BLOCK));
                while low < high {
                    let middle = low + (high - low) / 2;
                    if is_due(middle * BLOCK) { low = middle + 1 } else { high = middle }
                }
                let first = low.saturating_sub(1) * BLOCK;
                let within = self.dues(first).take(BLOCK as usize).take_while(|due| *due < time).count() as u64;
                first + within
            }
        }
    }

    /// The same for a curve: even arrivals are not rounded to whole ones.
    #[must_use]
    pub fn drawn_before(&self, time: Duration) -> f64 {
        match &self.starts {
            Starts::Arrivals(arrivals) if arrivals.spacing == super::Spacing::Even => {
                arrivals.rate.area(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), false)
            }
            _ => self.due_before(time) as f64,
        }
    }

    /// The number of its trials; `None`: as many as fit until [`Lane::ends`].
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match &self.starts {
            Starts::Slots { trials, .. } => *trials,
            Starts::Trace(dues) => Some(dues.len() as u64),
            Starts::Arrivals(arrivals) => Some(arrivals.count),
        }
    }

    /// No trial starts at or after this time; `None`: only [`Lane::count`] ends it.
    #[must_use]
    pub fn ends(&self) -> Option<Duration> {
        match &self.starts {
            Starts::Slots { ends, .. } => *ends,
            Starts::Trace(dues) => dues.last().map(|last| Duration::from_micros(last.saturating_add(1))),
            Starts::Arrivals(arrivals) => Some(arrivals.ends),
        }
    }

    pub(super) fn is_trace(&self) -> bool {
        matches!(self.starts, Starts::Trace(_))
    }

    /// Where its pace may change, in microseconds. A trace may change anywhere and is divided into ten.
    pub(super) fn marks(&self) -> Vec<u64> {
        match &self.starts {
            Starts::Arrivals(arrivals) => arrivals.rate.marks().collect(),
            Starts::Slots { area, ends, .. } => {
                let ends = ends.map(micros);
                area.marks().filter(|mark| ends.is_none_or(|ends| *mark < ends)).chain(ends).collect()
            }
            Starts::Trace(_) => {
                let ends = self.ends().map_or(0, micros);
                (0..=10).map(|part| ends / 10 * part + ends % 10 * part / 10).collect()
            }
        }
    }

    /// Its rate, or its slots, on average from one time to another. `until`: `None` is a time after its last stage.
    pub(super) fn mean(&self, from: Duration, until: Option<Duration>) -> f64 {
        let (begin, end) = (micros(from), until.map_or(u64::MAX, micros));
        let seconds = end.saturating_sub(begin) as f64 / 1e6;
        match &self.starts {
            Starts::Slots { slots, .. } if until.is_none() => slots.at(begin),
            Starts::Slots { area, ends, .. } => {
                let at = |micros_at: u64| area.area(ends.map_or(micros_at, |ends| micros_at.min(micros(ends))), true);
                (at(end) - at(begin)) / seconds
            }
            Starts::Arrivals(arrivals) => (arrivals.rate.area(end, false) - arrivals.rate.area(begin, false)) / seconds,
            Starts::Trace(_) => {
                let due = |time: u64| self.due_before(Duration::from_micros(time));
                (due(end) - due(begin)) as f64 / seconds
            }
        }
    }

    /// How many conversations at once it asks for at a time: none of an open pace, and never more than are left once so many
    /// have ended.
    #[must_use]
    pub fn asked_at(&self, time: Duration, ended: u64) -> u64 {
        let slots = self.slots_at(time).map_or(0, u64::from);
        self.count().map_or(slots, |count| slots.min(count.saturating_sub(ended)))
    }

    /// How many conversations run at once at a time; `None`: arrivals take any free slot.
    #[must_use]
    pub fn slots_at(&self, time: Duration) -> Option<u32> {
        match &self.starts {
            Starts::Slots { slots, ends, .. } => {
                if ends.is_some_and(|ends| time >= ends) {
                    return Some(0);
                }
                Some(slots.at(micros(time)).round() as u32)
            }
            Starts::Trace(_) | Starts::Arrivals(_) => None,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
