//! The steps of a load: stretches of time with one offered load, by which quality is compared.

use std::{collections::BTreeSet, time::Duration};

use super::{Schedule, SearchStep};

/// Of a ramp: each part changes the load by at least a tenth of the highest load.
const PARTS: u32 = 10;
/// A page shows as many rows; a pace with more steps gets wider ones.
const MOST: usize = 40;

/// A stretch of time with one offered load, from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub from: Duration,
    /// `None`: until all conversations of the slots have begun.
    pub until: Option<Duration>,
    /// Starts a second of all groups with arrivals, the mean over the step; `None`: there are no such groups.
    pub rate: Option<f64>,
    /// Slots of all groups with slots, the mean over the step; `None`: there are no such groups.
    pub slots: Option<f64>,
}

impl Schedule {
    /// Where the pace changes, a step begins. A ramp has up to ten steps, and a trace ten. Nothing of the warm-up is in them.
    ///
    /// Those before the last change of a rate or of slots are what they were then. A search has what it measures.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        if self.search().is_some() {
            let measured = self.search_steps().iter();
            let step = |step: &SearchStep| Step {
                from: step.measured_from,
                until: Some(step.until),
                rate: Some(step.rate),
                slots: None,
            };
            return measured.map(step).collect();
        }
        let mut steps = self.parts_of_ramps();
        steps.retain(|step| step.load() > 0.0);
        self.join(&mut steps, |one, next| one.rate == next.rate && one.slots == next.slots);
        while steps.len() > MOST {
            let mut at = 0;
            self.join(&mut steps, |_, _| {
                at += 1;
                at % 2 == 1
            });
        }
        self.settled().0.iter().copied().chain(steps).collect()
    }

    /// Joins neighbours; `alike` is asked about each step and the next one in turn.
    fn join(&self, steps: &mut Vec<Step>, mut alike: impl FnMut(&Step, &Step) -> bool) {
        let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps.drain(..) {
            match joined.last_mut() {
                Some(last) if alike(last, &step) => *last = self.step(last.from, step.until),
                _ => joined.push(step),
            }
        }
        *steps = joined;
    }

    fn parts_of_ramps(&self) -> Vec<Step> {
        let mut marks: BTreeSet<u64> = self.lanes().iter().flat_map(super::Lane::marks).collect();
        marks.insert(0);
        let begin = micros(self.warm_up().max(self.settled().1));
        marks.insert(begin);
        let marks: Vec<u64> = marks.into_iter().filter(|mark| *mark >= begin).collect();
        let between: Vec<(u64, u64)> = marks.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let halves = |(from, until): (u64, u64)| {
            let middle = from + (until - from) / 2;
            (self.planned(at(from), at(middle)), self.planned(at(middle), at(until)))
        };
        let peak = between
            .iter()
            .map(|pair| halves(*pair))
            .fold((0.0_f64, 0.0_f64), |peak, (one, two)| (peak.0.max(one.0).max(two.0), peak.1.max(one.1).max(two.1)));
        let mut steps = Vec::new();
        for (from, until) in between {
            let ((rate, slots), (rate_then, slots_then)) = halves((from, until));
            // The means of the halves of a straight line are half its rise apart.
            let share = |change: f64, peak: f64| if peak > 0.0 { 2.0 * change.abs() / peak } else { 0.0 };
            let change = share(rate_then - rate, peak.0).max(share(slots_then - slots, peak.1));
            let parts = ((change * f64::from(PARTS)).round() as u32).clamp(1, PARTS);
            let mark = |part: u32| at(from + (until - from) * u64::from(part) / u64::from(parts));
            steps.extend((0..parts).map(|part| self.step(mark(part), Some(mark(part + 1)))));
        }
        if self.ends().is_none() {
            steps.push(self.step(at(marks.last().copied().unwrap_or(0)), None));
        }
        steps
    }

    /// The mean rate and slots of a stretch, without traces: their arrivals differ from stretch to stretch by chance.
    fn planned(&self, from: Duration, until: Duration) -> (f64, f64) {
        let lanes = || self.lanes().iter().filter(|lane| !lane.is_trace());
        let sum = |open: bool| {
            lanes().filter(|lane| lane.is_open() == open).map(|lane| lane.mean(from, Some(until))).sum::<f64>()
        };
        (sum(true), sum(false))
    }

    /// The mean loads of a stretch. Differences below a millionth are those of the arithmetic.
    pub(super) fn step(&self, from: Duration, until: Option<Duration>) -> Step {
        let mean = |open: bool| {
            let mut lanes = self.lanes().iter().filter(|lane| lane.is_open() == open).peekable();
            lanes.peek()?;
            let sum: f64 = lanes.map(|lane| lane.mean(from, until)).sum();
            Some((sum * 1e6).round() / 1e6)
        };
        Step { from, until, rate: mean(true), slots: mean(false) }
    }
}

impl Step {
    fn load(&self) -> f64 {
        self.rate.unwrap_or(0.0) + self.slots.unwrap_or(0.0)
    }
}

fn at(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Load, LoadGroup, Pace, Profile, RateChange, Share, Spacing, Stage};

    fn schedule(warm_up_micros: u64, paces: Vec<Pace>) -> Schedule {
        let mix = vec![Share { group: 0, weight: 1, cases: None }];
        let group = |(index, pace)| LoadGroup { name: format!("group {index}"), pace, mix: mix.clone() };
        let groups = paces.into_iter().enumerate().map(group).collect();
        Schedule::of(&Load { groups, warm_up_micros, drop_after_micros: 1, search: None }, 7)
    }

    fn stages(stages: &[(u64, f64, f64)]) -> Profile {
        let stage = |&(seconds, from, to): &(u64, f64, f64)| Stage { micros: seconds * 1_000_000, from, to };
        Profile { stages: stages.iter().map(stage).collect() }
    }

    fn arrivals(rate: Profile) -> Pace {
        Pace::Arrivals { spacing: Spacing::Poisson, rate }
    }

    /// Seconds from and until, rate and slots.
    type Shown = (f64, Option<f64>, Option<f64>, Option<f64>);

    fn shown(schedule: &Schedule) -> Vec<Shown> {
        let steps = schedule.steps();
        steps.iter().map(|it| (it.from.as_secs_f64(), it.until.map(|at| at.as_secs_f64()), it.rate, it.slots)).collect()
    }

    #[test]
    fn a_steady_pace_is_one_step_without_its_warm_up() {
        let steady = schedule(60_000_000, vec![arrivals(stages(&[(300, 5.0, 5.0), (300, 5.0, 5.0)]))]);
        assert_eq!(shown(&steady), [(60.0, Some(600.0), Some(5.0), None)]);
        let slots = Pace::Slots { slots: stages(&[(1, 8.0, 8.0)]), trials: Some(100), ends_micros: None };
        assert_eq!(shown(&schedule(0, vec![slots])), [(0.0, None, None, Some(8.0))]);
    }

    #[test]
    fn stairs_are_steps_and_a_ramp_is_divided() {
        let stairs = schedule(0, vec![arrivals(stages(&[(10, 1.0, 1.0), (10, 2.0, 2.0), (20, 4.0, 4.0)]))]);
        let found = shown(&stairs);
        assert_eq!(found.iter().map(|step| step.2).collect::<Vec<_>>(), [Some(1.0), Some(2.0), Some(4.0)]);
        let ramp = schedule(0, vec![arrivals(stages(&[(100, 0.0, 10.0), (50, 10.0, 10.0), (10, 0.0, 0.0)]))]);
        let found = shown(&ramp);
        assert_eq!(found.len(), 11, "{found:?}");
        assert_eq!((found[0], found[9]), ((0.0, Some(10.0), Some(0.5), None), (90.0, Some(100.0), Some(9.5), None)));
        assert_eq!(found[10], (100.0, Some(150.0), Some(10.0), None), "nothing is offered after it");
    }

    #[test]
    fn groups_add_up_by_kind_and_a_trace_has_ten_steps() {
        let slots = Pace::Slots { slots: stages(&[(10, 3.0, 3.0)]), trials: None, ends_micros: Some(20_000_000) };
        let rate = |rate: f64| arrivals(stages(&[(20, rate, rate)]));
        let both = schedule(0, vec![rate(1.0), slots, rate(0.5)]);
        assert_eq!(shown(&both), [(0.0, Some(20.0), Some(1.5), Some(3.0))]);
        let gaps_micros = (0..100).map(|number| if number < 50 { 100_000 } else { 50_000 }).collect();
        let found = shown(&schedule(0, vec![Pace::Trace { gaps_micros }]));
        assert!((7..=10).contains(&found.len()), "{found:?}");
        let rates: Vec<f64> = found.iter().filter_map(|step| step.2).collect();
        assert!((rates[0] - 10.0).abs() < 1.5 && (rates.last().unwrap() - 20.0).abs() < 1.5, "{rates:?}");
    }

    #[test]
    fn a_change_begins_a_step_and_leaves_those_before_it() {
        let mut load = schedule(0, vec![arrivals(stages(&[(100, 0.0, 10.0), (100, 10.0, 10.0)]))]);
        let planned = load.steps();
        load.set_rate(0, RateChange { from: at(135_000_000), rate: 40.0 });
        let found = load.steps();
        assert_eq!(found[..10], planned[..10], "the ramp is divided as before, although the highest load is another");
        assert_eq!(
            shown(&load)[10..],
            [(100.0, Some(135.0), Some(10.0), None), (135.0, Some(200.0), Some(40.0), None)]
        );
        load.set_rate(0, RateChange { from: at(140_000_000), rate: 1.0 });
        assert_eq!(shown(&load)[11..], [(135.0, Some(140.0), Some(40.0), None), (140.0, Some(200.0), Some(1.0), None)]);

        let slots = Pace::Slots { slots: stages(&[(1, 8.0, 8.0)]), trials: Some(100), ends_micros: None };
        let mut load = schedule(0, vec![slots]);
        load.set_slots(0, 3, at(30_000_000));
        assert_eq!(shown(&load), [(0.0, Some(30.0), None, Some(8.0)), (30.0, None, None, Some(3.0))]);
    }

    #[test]
    fn many_steps_become_wider() {
        let many: Vec<(u64, f64, f64)> = (1..=200_u32).map(|rate| (5, f64::from(rate), f64::from(rate))).collect();
        let found = shown(&schedule(0, vec![arrivals(stages(&many))]));
        assert_eq!(found.len(), 25);
        assert_eq!((found[0].2, found[24].1), (Some(4.5), Some(1_000.0)));
    }
}
