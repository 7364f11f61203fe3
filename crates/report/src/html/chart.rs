//! The latency chart: percentiles on a scale on which each further nine takes as much room as the last.

use record::{latency::Quantiles, summary::Latencies, turn_times::Times};
use serde::Serialize;

use crate::figures::millis;

const LEFT: f64 = 64.0;
const RIGHT: f64 = 616.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 216.0;
const MOST_TICKS: f64 = 5.0;
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

#[derive(Serialize)]
pub(super) struct LatencyChart {
    columns: Vec<Tick>,
    lines: Vec<Tick>,
    curves: Vec<Curve>,
}

#[derive(Serialize)]
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) label: String,
}

#[derive(Serialize)]
struct Curve {
    class: &'static str,
    name: &'static str,
    /// An SVG polyline.
    line: String,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    x: String,
    y: String,
    label: &'static str,
    value: String,
}

impl LatencyChart {
    /// `None` where there are too few replies for a curve.
    pub(super) fn of(latency: &Latencies) -> Option<Self> {
        let Latencies { times: Times { response, turn, ttft, .. }, .. } = latency;
        // One percentile is a dot, and the table has it.
        turn.p90_ms?;
        let found = [response, turn, ttft].into_iter().flat_map(known).map(|(_, _, value)| value);
        let highest = found.fold(0.0, f64::max);
        let step = step(highest);
        let top = (highest / step).ceil().max(1.0) * step;
        let named =
            [("response", "Response time", response), ("reply", "Service time", turn), ("ttft", "First token", ttft)];
        let measured = named.into_iter().filter(|(_, _, of)| of.count > 0);
        let curves: Vec<Curve> = measured.map(|(class, name, of)| curve(class, name, of, top)).collect();
        let lines = (0..=(top / step).round() as u64).map(|index| {
            let value = index as f64 * step;
            Tick { at: format!("{:.1}", y(value, top)), label: if index == 0 { "0".to_owned() } else { axis(value) } }
        });
        let columns =
            PERCENTILES.iter().map(|(name, share)| Tick { at: format!("{:.1}", x(*share)), label: (*name).to_owned() });
        Some(Self { columns: columns.collect(), lines: lines.collect(), curves })
    }
}

/// The percentiles that there are enough replies for: name, share and milliseconds.
fn known(of: &Quantiles) -> impl Iterator<Item = (&'static str, f64, f64)> {
    let values = [(of.count > 0).then_some(of.p50_ms), of.p90_ms, of.p95_ms, of.p99_ms, of.p999_ms];
    PERCENTILES.into_iter().zip(values).filter_map(|((label, share), value)| Some((label, share, value?)))
}

fn curve(class: &'static str, name: &'static str, of: &Quantiles, top: f64) -> Curve {
    let points: Vec<Point> = known(of)
        .map(|(label, share, value)| Point {
            x: format!("{:.1}", x(share)),
            y: format!("{:.1}", y(value, top)),
            label,
            value: millis(value),
        })
        .collect();
    let line = points.iter().map(|point| format!("{},{}", point.x, point.y)).collect::<Vec<_>>().join(" ");
    Curve { class, name, line, points }
}

fn x(share: f64) -> f64 {
    let nines = |share: f64| -(1.0 - share).log10();
    let (first, last) = (nines(PERCENTILES[0].1), nines(PERCENTILES[4].1));
    LEFT + (nines(share) - first) / (last - first) * (RIGHT - LEFT)
}

fn y(value: f64, top: f64) -> f64 {
    BOTTOM - value / top * (BOTTOM - TOP)
}

/// 1, 2 or 5 times a power of ten, so that at most a handful of lines reach the highest value.
pub(super) fn step(highest: f64) -> f64 {
    let least = (highest / MOST_TICKS).max(0.001);
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(power * 10.0)
}

/// A tick's label: round values need no decimals.
pub(super) fn axis(value: f64) -> String {
    let (number, unit) = if value >= 1_000.0 { (value / 1_000.0, "s") } else { (value, "ms") };
    let text = format!("{number:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        for (highest, wanted) in
            [(4.7, 1.0), (812.0, 200.0), (1_000.0, 200.0), (1_001.0, 500.0), (0.0, 0.001), (61_000.0, 20_000.0)]
        {
            assert!((step(highest) - wanted).abs() < wanted * 1e-6, "{highest}: {}", step(highest));
        }
        for (value, label) in [(200.0, "200 ms"), (1_500.0, "1.5 s"), (0.5, "0.5 ms"), (20_000.0, "20 s")] {
            assert_eq!(axis(value), label);
        }
    }

    #[test]
    fn a_curve_has_the_percentiles_that_there_are_enough_replies_for() {
        let turn = Quantiles {
            count: 130,
            p50_ms: 100.0,
            p90_ms: Some(200.0),
            p95_ms: Some(250.0),
            max_ms: 410.0,
            mean_ms: 120.0,
            ..Quantiles::default()
        };
        let ttft = Quantiles { p95_ms: None, ..turn };
        let of = |turn, ttft| {
            let times = Times { turn, ttft, ..Times::default() };
            LatencyChart::of(&Latencies { times, unanswered_turns: 3 })
        };
        let chart = of(turn, ttft).unwrap();
        let curves: Vec<_> = chart.curves.iter().map(|curve| (curve.name, curve.line.split(' ').count())).collect();
        assert_eq!(curves, [("Service time", 3), ("First token", 2)]);
        assert_eq!(chart.lines.last().unwrap().label, "250 ms");
        assert!(of(Quantiles { p90_ms: None, p95_ms: None, ..turn }, ttft).is_none());
        assert!(of(Quantiles::default(), Quantiles::default()).is_none());
    }
}
