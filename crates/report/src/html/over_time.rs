//! Charts of a run over time: the load, how long the agent took under it, and how much of it met the limits.

use record::{
    Summary,
    latency::Quantiles,
    slices::{Series, SeriesSlice},
    summary::{Load, LoadSlice},
};
use serde::Serialize;

use super::{
    chart::{Tick, axis},
    plot::{Drawn, LEFT, Mark, Plot, RIGHT, Value, shown},
};
use crate::{
    document::events::{Event, events},
    figures::{count, decimal, millis, number, percent},
};

/// Fewer points are no course.
const FEWEST: usize = 5;
/// Ticks of the time axis: seconds, minutes and hours that people count in.
const TIMES_MS: [u64; 16] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000,
    21_600_000, 43_200_000, 86_400_000,
];
const MOST_COLUMNS: u64 = 6;
const MARKS_APART: f64 = 100.0;
const LINES_APART: f64 = 2.0;
/// So many letters fit between two marks, also in the larger type of a small screen.
const LONGEST_NAME: usize = 9;
/// Less of a slice gives no rate.
const LEAST_OF_SLICE: f64 = 0.3;

#[derive(Serialize)]
pub(super) struct OverTime {
    plots: Vec<Plot>,
    /// Of each point: `2 s`.
    width: String,
    /// Whether something is marked.
    marked: bool,
}

/// A percentile of the tail: its name, and its value in milliseconds.
type Tail = (&'static str, fn(&Quantiles) -> Option<f64>);

/// From the one that needs the most times to the one that needs the fewest.
const TAILS: [Tail; 3] = [("p99", |of| of.p99_ms), ("p95", |of| of.p95_ms), ("p90", |of| of.p90_ms)];

/// The time axis of a run.
struct Time<'a> {
    series: &'a Series,
    whole_ms: u64,
}

impl OverTime {
    /// `None` for a run that is too short.
    pub(super) fn of(summary: &Summary) -> Option<Self> {
        let series = summary.series.as_ref().filter(|series| series.slices.len() >= FEWEST)?;
        let whole_ms = series.width_ms * series.slices.len() as u64;
        let time = Time { series, whole_ms };
        let events = events(summary);
        let mut plots: Vec<Plot> = [
            Plot::of(("load-over-time", "Conversations per second"), time.loads(summary), None, number),
            Plot::of(("times-over-time", "Response time and service time"), time.times(), None, axis),
            Plot::of(("ttft-over-time", "First token of streamed replies"), time.first_tokens(), None, axis),
            Plot::of(("goodput-over-time", "Turns that met the limits of goodput"), time.goodput(), Some(1.0), percent),
        ]
        .into_iter()
        .flatten()
        .collect();
        for plot in &mut plots {
            plot.columns = time.columns();
            plot.marks = time.marks(&events);
        }
        Some(Self { plots, width: duration(series.width_ms), marked: !events.is_empty() })
    }
}

impl Time<'_> {
    fn x(&self, at_ms: f64) -> f64 {
        LEFT + (at_ms / self.whole_ms as f64).min(1.0) * (RIGHT - LEFT)
    }

    /// A line with a value in the middle of each slice.
    fn line(
        &self,
        class: &'static str,
        name: &str,
        text: fn(f64) -> String,
        of: impl Fn(&SeriesSlice) -> Option<f64>,
    ) -> Drawn {
        let value = |slice: &SeriesSlice| {
            let y = of(slice);
            let label = y.map(|y| format!("{name} after {}: {}", duration(slice.from_ms), text(y))).unwrap_or_default();
            Value { x: self.x(slice.from_ms as f64 + self.series.width_ms as f64 / 2.0), y, interval: None, label }
        };
        Drawn { class, name: name.to_owned(), values: self.series.slices.iter().map(value).collect() }
    }

    /// What was offered against what was started and completed.
    fn loads(&self, summary: &Summary) -> Vec<Drawn> {
        let run_ms = summary.wall.map_or(self.whole_ms, |wall| wall.duration_ms);
        let per_second =
            |count: u64, slice: &SeriesSlice| per_second(count, slice.from_ms, self.series.width_ms, run_ms);
        // Both from the load's own slices, so that they count the same starts.
        let of_load = summary.load.as_ref().filter(|load| !load.slices.is_empty());
        let started = match of_load {
            Some(load) => vec![
                self.of_load(load, "offered", |slice| slice.offered),
                self.of_load(load, "started", |slice| slice.started),
            ],
            None => vec![self.line("started", "started", decimal, |slice| per_second(slice.starts, slice))],
        };
        // A warm-up is not in the figures of the run.
        let warm_up_ms = summary.wall.map_or(0, |wall| wall.warm_up_ms());
        let is_measured = |slice: &SeriesSlice| slice.ends > 0 || slice.from_ms + self.series.width_ms > warm_up_ms;
        let ended = self
            .line("ended", "completed", decimal, |slice| per_second(slice.ends, slice).filter(|_| is_measured(slice)));
        started.into_iter().chain([ended]).collect()
    }

    fn of_load(&self, load: &Load, class: &'static str, of: fn(&LoadSlice) -> u64) -> Drawn {
        let width_ms = load.slice_seconds * 1_000;
        let ends = load.steps.iter().filter_map(|step| step.until_seconds).fold(0.0, f64::max);
        let ends_ms = if ends > 0.0 { (ends * 1_000.0) as u64 } else { self.whole_ms };
        let value = |slice: &LoadSlice| {
            let from_ms = slice.from_seconds * 1_000;
            let y = per_second(of(slice), from_ms, width_ms, ends_ms);
            let label = y.map(|y| format!("{class} after {}: {}", duration(from_ms), decimal(y))).unwrap_or_default();
            Value { x: self.x(from_ms as f64 + width_ms as f64 / 2.0), y, interval: None, label }
        };
        let values = load.slices.iter().map(value).collect();
        Drawn { class, name: class.to_owned(), values }
    }

    /// The highest percentile that half of the slices have enough turns for.
    fn tail(&self, of: fn(&SeriesSlice) -> &Quantiles) -> Option<Tail> {
        let slices = || self.series.slices.iter().map(of).filter(|of| of.count > 0);
        let enough = |tail: &Tail| slices().filter(|of| tail.1(of).is_some()).count() * 2 >= slices().count().max(1);
        TAILS.into_iter().find(enough)
    }

    fn times(&self) -> Vec<Drawn> {
        let response: fn(&SeriesSlice) -> &Quantiles = |slice| &slice.response;
        let service: fn(&SeriesSlice) -> &Quantiles = |slice| &slice.turn;
        let tail = self.tail(response).into_iter().flat_map(|(name, tail)| {
            [("response high", "response", response), ("service high", "service", service)].map(|(class, what, of)| {
                self.line(class, &format!("{what} {name}"), millis, move |slice| tail(of(slice)))
            })
        });
        let medians = [("response", "response p50", response), ("service", "service p50", service)]
            .map(|(class, name, of)| self.line(class, name, millis, move |slice| median(of(slice))));
        tail.chain(medians).collect()
    }

    fn first_tokens(&self) -> Vec<Drawn> {
        let ttft: fn(&SeriesSlice) -> &Quantiles = |slice| &slice.ttft;
        let tail =
            self.tail(ttft).map(|(name, tail)| self.line("ttft high", name, millis, move |slice| tail(&slice.ttft)));
        tail.into_iter().chain([self.line("ttft", "p50", millis, |slice| median(&slice.ttft))]).collect()
    }

    fn goodput(&self) -> Vec<Drawn> {
        let share = |slice: &SeriesSlice| {
            let turns = slice.turn.count + slice.unanswered_turns;
            let met = slice.turns_met?;
            (turns > 0).then(|| met as f64 / turns as f64)
        };
        vec![self.line("good", "goodput", percent, share)]
    }

    fn columns(&self) -> Vec<Tick> {
        let every_ms = TIMES_MS.into_iter().find(|step| self.whole_ms / step <= MOST_COLUMNS).unwrap_or(self.whole_ms);
        (0..=self.whole_ms / every_ms)
            .map(|index| index * every_ms)
            .map(|at_ms| Tick { at: shown(self.x(at_ms as f64)), label: duration(at_ms) })
            .collect()
    }

    /// What happened while the run played. Events that are too close for two names share one.
    fn marks(&self, events: &[Event]) -> Vec<Mark> {
        let x = |event: &Event| self.x(event.after_ms as f64);
        let mut marks = Vec::new();
        let mut left = events;
        while let Some(first) = left.first() {
            let together = left.iter().take_while(|event| x(event) - x(first) < MARKS_APART).count();
            let (near, rest) = left.split_at(together);
            left = rest;
            let mut line = f64::NEG_INFINITY;
            for (index, event) in near.iter().enumerate() {
                let title = format!("after {}: {}", duration(event.after_ms), event.text);
                let name = if index == 0 { name(near) } else { String::new() };
                // Lines on top of each other are one.
                if x(event) - line >= LINES_APART {
                    line = x(event);
                    marks.push(Mark { x: shown(line), name, title });
                } else if let Some(mark) = marks.last_mut() {
                    mark.title = format!("{}; {title}", mark.title);
                }
            }
        }
        marks
    }
}

/// A name for events that share one: what it says fits, or how many they are.
fn name(events: &[Event]) -> String {
    let lost: u64 = events.iter().map(|event| event.lost).sum();
    let lost = (lost > 0).then(|| format!("{} lost", count(lost)));
    let names: Vec<String> = events.iter().filter_map(|event| event.name.clone()).chain(lost).collect();
    let all = names.join(", ");
    if all.chars().count() <= LONGEST_NAME { all } else { format!("{} events", count(names.len() as u64)) }
}

/// `None` where so little of the slice was played that it gives no rate.
fn per_second(count: u64, from_ms: u64, width_ms: u64, ends_ms: u64) -> Option<f64> {
    let played_ms = ends_ms.saturating_sub(from_ms).min(width_ms) as f64;
    (played_ms >= LEAST_OF_SLICE * width_ms as f64).then(|| count as f64 * 1_000.0 / played_ms)
}

fn median(of: &Quantiles) -> Option<f64> {
    (of.count > 0).then_some(of.p50_ms)
}

/// `0`, `30 s`, `5 min`, `2 h`.
fn duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0 => "0".to_owned(),
        _ if seconds.is_multiple_of(3_600) => format!("{} h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ if seconds > 60 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_units_that_people_count_in() {
        for (millis, text) in
            [(0, "0"), (30_000, "30 s"), (90_000, "1 min 30 s"), (300_000, "5 min"), (7_200_000, "2 h")]
        {
            assert_eq!(duration(millis), text);
        }
    }

    #[test]
    fn events_that_are_close_share_a_name() {
        let series = Series { width_ms: 1_000, slices: Vec::new() };
        // 5.2 px a second.
        let time = Time { series: &series, whole_ms: 100_000 };
        let event = |after_ms, name: &str, lost| Event {
            after_ms,
            text: format!("{name} {lost}"),
            name: (lost == 0 && !name.is_empty()).then(|| name.to_owned()),
            lost,
        };
        let marks = |events: &[Event]| -> Vec<(String, String, String)> {
            time.marks(events).into_iter().map(|mark| (mark.x, mark.name, mark.title)).collect()
        };
        let row = |x: &str, name: &str, title: &str| (x.to_owned(), name.to_owned(), title.to_owned());
        let pause = [event(10_000, "paused", 0), event(10_000, "", 0), event(40_000, "60/s", 0)];
        let expected = [
            row("136.0", "paused", "after 10 s: paused 0; after 10 s:  0"),
            row("292.0", "60/s", "after 40 s: 60/s 0"),
        ];
        assert_eq!(marks(&pause), expected, "a pause takes no time on the axis");
        let lost = [event(10_000, "", 3), event(20_000, "", 1)];
        assert_eq!(marks(&lost)[0].1, "4 lost");
        assert_eq!(marks(&lost)[1].1, "", "its line has no name of its own");
        let many = [event(0, "paused", 0), event(2_000, "restart", 0), event(4_000, "", 12)];
        assert_eq!(marks(&many)[0].1, "3 events");
    }

    #[test]
    fn a_slice_that_was_hardly_played_has_no_rate() {
        assert_eq!(per_second(10, 8_000, 2_000, 10_000), Some(5.0));
        assert_eq!(per_second(5, 8_000, 2_000, 9_000), Some(5.0), "half of it was played");
        assert_eq!(per_second(5, 8_000, 2_000, 8_100), None);
    }
}
