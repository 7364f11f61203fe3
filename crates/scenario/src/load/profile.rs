//! A number over time: piecewise linear, with its integral and the inverse of the integral.

use serde::{Deserialize, Serialize};

use crate::time;

/// The most stages of a profile.
pub(crate) const MOST_STAGES: usize = 10_000;
/// The largest rate, and the largest number of slots.
pub(crate) const MOST_VALUE: f64 = 1_000_000.0;

/// A number over time: stages one after another from the start of the run, and nothing past the last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profile {
    /// Never empty.
    pub stages: Vec<Stage>,
}

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub micros: u64,
    pub from: f64,
    pub to: f64,
}

impl Stage {
    /// The value after so many microseconds of the stage.
    fn at(&self, micros: u64) -> f64 {
        self.from + (self.to - self.from) * (micros as f64 / self.micros as f64)
    }

    /// Seconds times the mean.
    fn area(&self) -> f64 {
        (self.from + self.to) / 2.0 * (self.micros as f64 / 1e6)
    }

    /// After how many seconds the area is so large.
    fn after(&self, area: f64) -> f64 {
        if area <= 0.0 {
            return 0.0;
        }
        let seconds = self.micros as f64 / 1e6;
        let slope = (self.to - self.from) / seconds;
        // The root of slope/2 s² + from s = area in the form that does not cancel where the slope is small.
        let root = (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt();
        (2.0 * area / (self.from + root)).min(seconds)
    }
}

impl Profile {
    /// The same number for so long.
    #[must_use]
    pub fn constant(value: f64, micros: u64) -> Self {
        Self { stages: vec![Stage { micros, from: value, to: value }] }
    }

    #[must_use]
    pub fn micros(&self) -> u64 {
        self.stages.iter().fold(0, |sum, stage| sum.saturating_add(stage.micros))
    }

    /// The value at a time; past the end, the last one.
    #[must_use]
    pub fn at(&self, micros: u64) -> f64 {
        let mut left = micros;
        for stage in &self.stages {
            if left < stage.micros {
                return stage.at(left);
            }
            left -= stage.micros;
        }
        self.stages.last().map_or(0.0, |stage| stage.to)
    }

    /// The integral over all stages, for values that are rates a second.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.stages.iter().map(Stage::area).sum()
    }

    /// The same until a time, and from then on another value, which holds past the end.
    pub(super) fn change(&mut self, from: u64, value: f64) {
        let (before, length) = (self.at(from), self.micros());
        let mut start = 0_u64;
        self.stages.retain_mut(|stage| {
            let (begin, left) = (start, from.saturating_sub(start));
            start = start.saturating_add(stage.micros);
            if left < stage.micros {
                (stage.to, stage.micros) = (before, left);
            }
            begin < from
        });
        if length < from {
            self.stages.push(Stage { micros: from - length, from: before, to: before });
        }
        self.stages.push(Stage { micros: length.saturating_sub(from).max(1_000_000), from: value, to: value });
    }

    pub(super) fn consistent(&self) -> Result<(), String> {
        if self.stages.is_empty() || self.stages.len() > MOST_STAGES {
            return Err(format!("it has {} stages; 1 to {MOST_STAGES} are played", self.stages.len()));
        }
        let in_range = |value: f64| (0.0..=MOST_VALUE).contains(&value);
        if let Some(stage) = self.stages.iter().find(|stage| !in_range(stage.from) || !in_range(stage.to)) {
            return Err(format!("a stage goes from {} to {}; 0 to {MOST_VALUE} are possible", stage.from, stage.to));
        }
        if self.stages.iter().any(|stage| stage.micros == 0) || self.micros() > time::MOST_MICROS {
            return Err("a stage has no duration, or all are longer than 31 days".to_owned());
        }
        Ok(())
    }
}

/// The inverse of a profile's integral, with the sums of its stages at hand.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inverse {
    /// Each holds until the next one begins.
    stages: Vec<Stage>,
    /// The area and the microseconds before each stage.
    before: Vec<(f64, u64)>,
    pub(super) total: f64,
}

impl Inverse {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut sums = (0.0, 0);
        let before = profile
            .stages
            .iter()
            .map(|stage| {
                let before = sums;
                sums = (before.0 + stage.area(), before.1 + stage.micros);
                before
            })
            .collect();
        Self { stages: profile.stages.clone(), before, total: sums.0 }
    }

    /// From a time before its end on, another value. What lies before that time has the same numbers to the last bit, so
    /// the line that the change cuts off stays whole.
    pub(super) fn change(&mut self, from: u64, value: f64) {
        let end = self.end();
        let below = self.area(from, false);
        let kept = self.before.partition_point(|(_, start)| *start < from);
        self.before.truncate(kept);
        self.stages.truncate(kept);
        let rest = Stage { micros: end - from, from: value, to: value };
        self.total = below + rest.area();
        self.before.push((below, from));
        self.stages.push(rest);
    }

    /// Nothing is added from a time on.
    pub(super) fn end_at(&mut self, end: u64) {
        self.total = self.area(end, false);
        let kept = self.before.partition_point(|(_, start)| *start < end);
        self.before.truncate(kept);
        self.stages.truncate(kept);
    }

    /// Its lines, and when each begins.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, &Stage)> {
        self.before.iter().map(|(_, start)| *start).zip(&self.stages)
    }

    /// When the last line ends.
    pub(super) fn end(&self) -> u64 {
        self.before.last().zip(self.stages.last()).map_or(0, |((_, start), stage)| start.saturating_add(stage.micros))
    }

    /// Where stages begin, and where the last one ends, in microseconds.
    pub(super) fn marks(&self) -> impl Iterator<Item = u64> {
        self.before.iter().map(|(_, start)| *start).chain(std::iter::once(self.end()))
    }

    /// The integral up to a time. `goes_on`: the last value holds past the end.
    pub(super) fn area(&self, micros: u64, goes_on: bool) -> f64 {
        let stage = self.before.partition_point(|(_, start)| *start <= micros).saturating_sub(1);
        let (Some(line), Some((below, start))) = (self.stages.get(stage), self.before.get(stage)) else { return 0.0 };
        let within = (micros - start).min(line.micros);
        let past = if goes_on { (micros - start - within) as f64 / 1e6 * line.to } else { 0.0 };
        below + (line.from + line.at(within)) / 2.0 * (within as f64 / 1e6) + past
    }

    /// When the integral is so large, in microseconds.
    pub(super) fn micros(&self, area: f64) -> u64 {
        // The last stage that begins at or below the area: stages at rate 0 add nothing and are skipped.
        let stage = self.before.partition_point(|(before, _)| *before <= area).saturating_sub(1);
        let (Some(line), Some((below, start))) = (self.stages.get(stage), self.before.get(stage)) else { return 0 };
        start + (line.after(area - below) * 1e6).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stages: &[(u64, f64, f64)]) -> Profile {
        let stage = |&(seconds, from, to): &(u64, f64, f64)| Stage { micros: seconds * 1_000_000, from, to };
        Profile { stages: stages.iter().map(stage).collect() }
    }

    #[test]
    fn the_inverse_finds_where_the_integral_is() {
        let inverse = |stages: &[(u64, f64, f64)], area: f64| Inverse::of(&profile(stages)).micros(area);
        assert_eq!(inverse(&[(10, 5.0, 5.0)], 25.0), 5_000_000);
        // t² / 2 = 8
        assert_eq!(inverse(&[(10, 0.0, 10.0)], 8.0), 4_000_000);
        // 10 t - t² / 2 = 32
        assert_eq!(inverse(&[(10, 10.0, 0.0)], 32.0), 4_000_000);
        // A pause is skipped: the arrival at its beginning comes after it.
        assert_eq!(inverse(&[(2, 1.0, 1.0), (5, 0.0, 0.0), (2, 1.0, 1.0)], 2.0), 7_000_000);
        assert_eq!(inverse(&[(3, 0.0, 0.0), (2, 1.0, 1.0)], 0.0), 3_000_000);
        assert_eq!(inverse(&[(10, 1e-9, 1e-9 + 1e-18), (10, 1e6, 1e6)], 5.0), 10_000_005);
    }

    #[test]
    fn values_lie_on_the_lines_and_the_last_one_holds() {
        let stairs = profile(&[(10, 0.0, 10.0), (10, 20.0, 20.0)]);
        let at = |seconds: f64| stairs.at((seconds * 1e6) as u64);
        assert_eq!([at(0.0), at(5.0), at(10.0), at(19.9), at(99.0)], [0.0, 5.0, 20.0, 20.0, 20.0]);
        assert_eq!(stairs.total(), 250.0);
    }

    #[test]
    fn a_change_leaves_what_lies_before_it() {
        let stairs = [(10, 0.0, 10.0), (10, 20.0, 20.0)];
        // Within a ramp, where a stage begins, at the start, past the end.
        for from in [4, 10, 0, 25] {
            let mut changed = profile(&stairs);
            changed.change(from * 1_000_000, 3.0);
            assert!(changed.stages.iter().all(|stage| stage.micros > 0), "{changed:?}");
            for second in 0..30 {
                let expected = if second < from { profile(&stairs).at(second * 1_000_000) } else { 3.0 };
                assert_eq!(changed.at(second * 1_000_000), expected, "second {second}, changed at {from}");
            }
        }
        let mut inverse = Inverse::of(&profile(&stairs));
        inverse.change(4_000_000, 3.0);
        assert_eq!((inverse.area(4_000_000, false), inverse.total), (8.0, 8.0 + 16.0 * 3.0));
        assert_eq!((inverse.micros(8.0), inverse.micros(11.0)), (4_000_000, 5_000_000));
        assert_eq!(inverse.marks().collect::<Vec<_>>(), [0, 4_000_000, 20_000_000]);
    }
}
