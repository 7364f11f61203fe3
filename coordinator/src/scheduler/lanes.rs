//! The lanes of a load: which of their trials were never leased, and how many may be leased now.
//!
//! Arrivals are leased up to [`HORIZON`] before they are due, so that workers start them on time however long a claim takes.
//! They are dealt to workers in small pieces, by the slots of each, so that no worker plays a stretch of time alone. What
//! nobody has taken [`URGENT`] before it is due goes to any worker. What is due already is leased too: its worker starts it
//! late, or drops it.

use std::{ops::Range, sync::Arc, time::Duration};

use scenario::load::{Lane, MOST_LOCAL, Schedule, lane_and_local, trial_number};

use super::ranges::Ranges;

/// How long before they are due arrivals are leased: two heartbeats.
const HORIZON: Duration = Duration::from_secs(4);
/// The horizon moves in steps: without them each claim would get the one arrival that came into view since the last.
const STEP: Duration = Duration::from_millis(250);
/// From then on each claim gets the next arrivals.
const URGENT: Duration = Duration::from_millis(500);
/// How long after the first claim arrivals begin: meanwhile a worker gets the plan and reads its scenarios. Without it the
/// first arrivals would be late.
const PREPARATION: Duration = Duration::from_millis(250);
/// How much of a lane's time is dealt at once, in arrivals of its mean rate.
const DEAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Lanes {
    schedule: Arc<Schedule>,
    began: Option<Began>,
    /// The load has stood still since then.
    paused: Option<Duration>,
    lanes: Vec<LaneTrials>,
}

/// The load was so old then, on the scheduler's clock.
#[derive(Debug, Clone, Copy)]
struct Began {
    at: Duration,
    elapsed: Duration,
}

#[derive(Debug)]
struct LaneTrials {
    /// Never leased.
    fresh: Ranges,
    leased: u64,
    /// So many arrivals are dealt at once.
    deal: u64,
}

/// A session among those that can play a run, by slots: its own follow those of the sessions before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) before: u64,
    pub(super) slots: u64,
    pub(super) of: u64,
}

impl Lanes {
    /// `elapsed`: since the load began; `None`: it has not.
    pub(super) fn new(schedule: Arc<Schedule>, elapsed: Option<Duration>, now: Duration) -> Self {
        let lanes = schedule.lanes().iter().enumerate().map(|(index, lane)| LaneTrials::new(index, lane)).collect();
        Self { schedule, began: elapsed.map(|elapsed| Began { at: now, elapsed }), paused: None, lanes }
    }

    /// Begins the load, if it has not begun. Arrivals begin a little later, and later still with several workers, so that each
    /// of them gets some of the first. Returns how much later.
    pub(super) fn begin(&mut self, workers: usize, now: Duration) -> Option<Duration> {
        if self.began.is_some() {
            return None;
        }
        let lead = match workers {
            2.. => URGENT,
            _ if self.schedule.lanes().iter().any(Lane::is_open) => PREPARATION,
            _ => Duration::ZERO,
        };
        self.began = Some(Began { at: now + lead, elapsed: Duration::ZERO });
        Some(lead)
    }

    /// Stops the time of the load, or lets it go on where it stopped.
    pub(super) fn pause(&mut self, paused: bool, now: Duration) {
        if paused {
            self.paused.get_or_insert(now);
        } else if let Some(since) = self.paused.take()
            && let Some(began) = &mut self.began
        {
            began.at += now.saturating_sub(since);
        }
    }

    /// From when on the rate of a lane may change: earlier arrivals may be leased, and stay due when they are.
    pub(super) fn may_change_from(&self, now: Duration) -> Duration {
        let Some(elapsed) = self.elapsed(now) else { return Duration::ZERO };
        let lanes = self.lanes.iter().zip(self.schedule.lanes()).enumerate();
        let after_leased = lanes.filter_map(|(index, (trials, lane))| {
            // The horizon may lie farther ahead than now, if the clock of the coordinator's machine was set back.
            let first = trials.fresh.tail(trial_number(index, count_of(lane)));
            let last = first.checked_sub(trial_number(index, 0) + 1)?;
            Some(lane.due(last)? + Duration::from_micros(1))
        });
        after_leased.fold(elapsed + HORIZON, Duration::max)
    }

    /// The schedule with a change of rates or slots.
    pub(super) fn reschedule(&mut self, schedule: Arc<Schedule>) {
        let before = self.schedule.lanes().iter().map(count_of);
        for (index, ((trials, lane), before)) in self.lanes.iter_mut().zip(schedule.lanes()).zip(before).enumerate() {
            let (before, after) = (trial_number(index, before), trial_number(index, count_of(lane)));
            trials.fresh.remove(after..before.max(after));
            trials.fresh.insert(before..after.max(before));
            trials.deal = deal_of(lane);
        }
        self.schedule = schedule;
    }

    /// When it began, in microseconds on the scheduler's clock.
    pub(super) fn began_micros(&self) -> Option<i64> {
        let Began { at, elapsed } = self.began?;
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        Some(micros(at) - micros(elapsed))
    }

    /// How old the load is then.
    pub(super) fn elapsed(&self, then: Duration) -> Option<Duration> {
        let then = self.paused.map_or(then, |since| then.min(since));
        self.began.map(|began| (then + began.elapsed).saturating_sub(began.at))
    }

    pub(super) fn count(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn is_open(&self, index: usize) -> bool {
        self.schedule.lanes().get(index).is_some_and(Lane::is_open)
    }

    /// Whether the trial has a time.
    pub(super) fn is_open_number(&self, trial: u64) -> bool {
        self.is_open(lane_and_local(trial).0)
    }

    /// Removes trials that are not fresh.
    pub(super) fn remove(&mut self, trials: Range<u64>) {
        for lane in &mut self.lanes {
            lane.fresh.remove(trials.clone());
        }
    }

    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut Ranges> {
        self.lanes.iter_mut().map(|lane| &mut lane.fresh)
    }

    pub(super) fn add_leased(&mut self, trials: &Range<u64>) {
        if let Some(lane) = self.lane_of(trials.start) {
            lane.leased += trials.end - trials.start;
        }
    }

    pub(super) fn remove_leased(&mut self, trial: u64) {
        if let Some(lane) = self.lane_of(trial) {
            lane.leased -= 1;
        }
    }

    fn lane_of(&mut self, trial: u64) -> Option<&mut LaneTrials> {
        self.lanes.get_mut(lane_and_local(trial).0)
    }

    /// How many fresh trials can be leased now.
    pub(super) fn available(&self, now: Duration) -> u64 {
        (0..self.lanes.len()).map(|index| self.available_in(index, now)).sum()
    }

    fn available_in(&self, index: usize, now: Duration) -> u64 {
        let (Some(trials), Some(lane)) = (self.lanes.get(index), self.schedule.lanes().get(index)) else { return 0 };
        if lane.is_open() {
            return trials.fresh.count_below(trial_number(index, self.due_in(lane, HORIZON, now)));
        }
        if self.has_ended(lane, now) { 0 } else { trials.fresh.count().min(self.room(index, now)) }
    }

    /// How many more trials of a closed lane may run now.
    pub(super) fn room(&self, index: usize, now: Duration) -> u64 {
        let (Some(trials), Some(lane)) = (self.lanes.get(index), self.schedule.lanes().get(index)) else { return 0 };
        self.slots(lane, now).saturating_sub(trials.leased)
    }

    /// How many trials of a closed lane may run now.
    fn slots(&self, lane: &Lane, now: Duration) -> u64 {
        let elapsed = self.elapsed(now).unwrap_or_default();
        // Past the end of the lane, what was lost or broke is played by as many slots as there were last, or by one.
        let last = lane.ends().map_or(elapsed, |ends| elapsed.min(ends.saturating_sub(Duration::from_micros(1))));
        let slots = u64::from(lane.slots_at(last).unwrap_or(u32::MAX));
        if self.has_ended(lane, now) { slots.max(1) } else { slots }
    }

    /// The closed lanes that have ended, or of which more trials are leased than may run now.
    pub(super) fn overfull(&self, now: Duration) -> Vec<usize> {
        let is_over = |(index, (trials, lane)): (usize, (&LaneTrials, &Lane))| {
            let slots = self.slots(lane, now);
            (!lane.is_open() && (trials.leased > slots || self.has_ended(lane, now))).then_some(index)
        };
        self.lanes.iter().zip(self.schedule.lanes()).enumerate().filter_map(is_over).collect()
    }

    /// Takes back a trial that never began, if its lane is closed; returns whether it is. The trial is not played if its lane ends
    /// before it is leased again.
    pub(super) fn give_back(&mut self, trial: u64) -> bool {
        let is_closed = !self.is_open_number(trial);
        let lane = self.lane_of(trial).filter(|_| is_closed);
        lane.map(|lane| lane.fresh.insert(trial..trial + 1)).is_some()
    }

    /// Whether a closed lane has fresh trials, which begin when slots become free.
    pub(super) fn wait_for_slots(&self, now: Duration) -> bool {
        let waits = |(trials, lane): (&LaneTrials, &Lane)| {
            !lane.is_open() && trials.fresh.count() > 0 && !self.has_ended(lane, now)
        };
        self.lanes.iter().zip(self.schedule.lanes()).any(waits)
    }

    /// How many arrivals of a lane are due before `ahead` from now.
    fn due_in(&self, lane: &Lane, ahead: Duration, now: Duration) -> u64 {
        let Some(elapsed) = self.elapsed(now + ahead) else { return 0 };
        let steps = elapsed.as_micros() / STEP.as_micros();
        let step = Duration::from_micros(u64::try_from(steps * STEP.as_micros()).unwrap_or(u64::MAX));
        lane.due_before(step)
    }

    fn has_ended(&self, lane: &Lane, now: Duration) -> bool {
        self.elapsed(now).is_some_and(|elapsed| lane.ends().is_some_and(|ends| elapsed >= ends))
    }

    /// Whether nothing fresh will be leased any more. Arrivals are never left out.
    pub(super) fn are_over(&self, now: Duration) -> bool {
        let over = |(trials, lane): (&LaneTrials, &Lane)| {
            trials.fresh.count() == 0 || (!lane.is_open() && self.has_ended(lane, now))
        };
        self.lanes.iter().zip(self.schedule.lanes()).all(over)
    }

    /// At most `most` fresh trials of a closed lane, as one range.
    pub(super) fn take_for_slots(&mut self, index: usize, most: u64, now: Duration) -> Option<Range<u64>> {
        let most = self.available_in(index, now).min(most);
        self.lanes.get_mut(index).filter(|_| most > 0)?.fresh.take_first(most)
    }

    /// At most `most` fresh arrivals of an open lane for a session at this place, in at most `pieces` ranges.
    pub(super) fn take_arrivals(
        &mut self,
        index: usize,
        most: u64,
        pieces: usize,
        place: Place,
        now: Duration,
    ) -> Vec<Range<u64>> {
        let Some(lane) = self.schedule.lanes().get(index) else { return Vec::new() };
        let (urgent, horizon) = (self.due_in(lane, URGENT, now), self.due_in(lane, HORIZON, now));
        let Some(LaneTrials { fresh, deal, .. }) = self.lanes.get_mut(index) else { return Vec::new() };
        let mut taken = Ranges::default();
        let mut take = |locals: Range<u64>| {
            let numbers = trial_number(index, locals.start)..trial_number(index, locals.end);
            while taken.pieces() < pieces
                && let Some(range) = fresh.take_first_within(numbers.clone(), most - taken.count())
            {
                taken.insert(range);
            }
            taken.count() < most && taken.pieces() < pieces
        };
        let mut goes_on = take(0..urgent);
        if place.slots >= place.of {
            goes_on = goes_on && take(urgent..horizon);
        }
        let mut number = urgent / *deal;
        while goes_on && place.slots < place.of && number * *deal < horizon {
            let all = number * *deal..(number + 1) * *deal;
            let parts = place.parts(number, *deal).map(|part| all.start + part.start..all.start + part.end);
            goes_on = parts.into_iter().all(|part| take(part.start.max(urgent)..part.end.min(horizon)));
            number += 1;
        }
        std::iter::from_fn(|| taken.take_first(u64::MAX)).collect()
    }
}

impl LaneTrials {
    fn new(index: usize, lane: &Lane) -> Self {
        let first = trial_number(index, 0);
        Self { fresh: Ranges::of(first..first + count_of(lane)), leased: 0, deal: deal_of(lane) }
    }
}

/// How many trials a lane may play.
fn count_of(lane: &Lane) -> u64 {
    lane.count().unwrap_or(MOST_LOCAL)
}

fn deal_of(lane: &Lane) -> u64 {
    let micros = lane.ends().map_or(1, |ends| ends.as_micros().max(1));
    let deal = u128::from(count_of(lane)) * DEAL.as_micros() / micros;
    u64::try_from(deal).unwrap_or(u64::MAX).max(1)
}

impl Place {
    /// The session's part of a deal of so many arrivals. The slots lie on a circle that begins elsewhere for each deal, so
    /// that deals of one arrival go to all sessions in the long run.
    fn parts(self, deal: u64, length: u64) -> [Range<u64>; 2] {
        let start = ((deal + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % self.of;
        let first = (self.before + self.of - start) % self.of;
        let arrivals = |slots: Range<u64>| {
            let arrival = |slot: u64| u128::from(slot) * u128::from(length);
            let arrival = |slot| u64::try_from(arrival(slot).div_ceil(u128::from(self.of))).unwrap_or(length);
            arrival(slots.start)..arrival(slots.end)
        };
        let end = first + self.slots;
        [arrivals(first..end.min(self.of)), arrivals(0..end.saturating_sub(self.of))]
    }
}

/// The numbers of a lane's trials.
pub(super) fn numbers_of(lane: usize) -> Range<u64> {
    trial_number(lane, 0)..trial_number(lane + 1, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_arrival_of_a_deal_goes_to_one_session(slots in proptest::collection::vec(1_u64..80, 1..6), deal in 0_u64..1_000, length in 1_u64..200) {
            let of = slots.iter().sum();
            let mut before = 0;
            let mut dealt = vec![0; usize::try_from(length).unwrap()];
            for slots in slots {
                for part in (Place { before, slots, of }).parts(deal, length) {
                    part.for_each(|arrival| dealt[usize::try_from(arrival).unwrap()] += 1);
                }
                before += slots;
            }
            prop_assert!(dealt.iter().all(|count| *count == 1), "{dealt:?}");
        }
    }

    #[test]
    fn deals_of_one_arrival_go_to_sessions_by_their_slots() {
        let mut dealt = [0_u64; 2];
        for deal in 0..10_000 {
            for (index, place) in
                [Place { before: 0, slots: 1, of: 4 }, Place { before: 1, slots: 3, of: 4 }].iter().enumerate()
            {
                dealt[index] += place.parts(deal, 1).into_iter().map(|part| part.end - part.start).sum::<u64>();
            }
        }
        assert_eq!(dealt[0] + dealt[1], 10_000);
        assert!((2_300..2_700).contains(&dealt[0]), "{dealt:?}");
    }
}
