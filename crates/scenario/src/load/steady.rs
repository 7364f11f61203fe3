//! The longest stretch of a load in which its pace does not change: only there can something else drift.

use std::{ops::Range, time::Duration};

use super::{
    profile::{Inverse, Stage},
    schedule::{Lane, Schedule, Starts},
};

/// A stretch of a lane, from here to the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    from_micros: u64,
    /// Starts a second, or slots; `None`: it changes.
    value: Option<f64>,
}

impl Schedule {
    /// The longest stretch after the warm-up in which every lane keeps its rate or its number of slots, and some lane
    /// starts conversations; `None`: there is none, as in a trace. It ends at [`Duration::MAX`] where only the number
    /// of conversations ends the load.
    #[must_use]
    pub fn steady(&self) -> Option<Range<Duration>> {
        let lanes: Vec<Vec<Stretch>> = self.lanes().iter().map(|lane| stretches(lane, self.lanes().len())).collect();
        let mut cuts: Vec<u64> = lanes.iter().flatten().map(|stretch| stretch.from_micros).collect();
        cuts.push(u64::MAX);
        cuts.sort_unstable();
        cuts.dedup();
        let mut longest: Option<Range<u64>> = None;
        let mut running: Option<(u64, Vec<f64>)> = None;
        let begin = u64::try_from(self.warm_up().as_micros()).unwrap_or(u64::MAX);
        for cut in cuts.windows(2) {
            let (from, to) = (cut[0].max(begin), cut[1]);
            let values: Option<Vec<f64>> = lanes.iter().map(|lane| value_at(lane, cut[0])).collect();
            let values = values.filter(|values| values.iter().any(|value| *value > 0.0));
            running = match (values, running) {
                _ if from >= to => None,
                (None, _) => None,
                (Some(values), Some((since, same))) if values == same => Some((since, same)),
                (Some(values), _) => Some((from, values)),
            };
            if let Some((since, _)) = &running
                && longest.as_ref().is_none_or(|longest| to - since > longest.end - longest.start)
            {
                longest = Some(*since..to);
            }
        }
        let time = |micros: u64| if micros == u64::MAX { Duration::MAX } else { Duration::from_micros(micros) };
        longest.map(|longest| time(longest.start)..time(longest.end))
    }
}

/// Of a lane from the start on; the last one holds for ever.
fn stretches(lane: &Lane, lanes: usize) -> Vec<Stretch> {
    let micros = |ends: Option<Duration>| ends.map(|ends| u64::try_from(ends.as_micros()).unwrap_or(u64::MAX));
    match lane.starts() {
        // It begins and ends with its first and last time, and changes between them.
        Starts::Trace(dues) => {
            let end = dues.last().copied().unwrap_or(0).saturating_add(1);
            vec![Stretch { from_micros: 0, value: None }, Stretch { from_micros: end, value: Some(0.0) }]
        }
        Starts::Arrivals(arrivals) => of_lines(&arrivals.rate, 0.0, micros(lane.ends())),
        Starts::Slots { slots, area, trials, .. } => {
            if trials.is_some() && lanes > 1 {
                // Nobody knows when it ends, and then the load is another.
                return vec![Stretch { from_micros: 0, value: None }];
            }
            let last = slots.stages.last().map_or(0.0, |stage| stage.to);
            of_lines(area, last, micros(lane.ends()))
        }
    }
}

/// `last`: what holds past the lines. At `ends` everything is over.
fn of_lines(lines: &Inverse, last: f64, ends: Option<u64>) -> Vec<Stretch> {
    let value = |(from_micros, line): (u64, &Stage)| {
        let value = (line.from == line.to).then_some(line.to);
        Stretch { from_micros, value }
    };
    let mut found: Vec<Stretch> = lines.lines().map(value).collect();
    found.push(Stretch { from_micros: lines.end(), value: Some(last) });
    if let Some(ends) = ends {
        found.retain(|stretch| stretch.from_micros < ends);
        found.push(Stretch { from_micros: ends, value: Some(0.0) });
    }
    found
}

fn value_at(lane: &[Stretch], micros: u64) -> Option<f64> {
    let place = lane.partition_point(|stretch| stretch.from_micros <= micros);
    lane.get(place.checked_sub(1)?)?.value
}
