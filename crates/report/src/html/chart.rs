//! The latency chart: percentiles on a scale on which each further nine takes as much room as the last.

use record::{latency::Quantiles, summary::Latencies};
use serde::Serialize;

use crate::figures::{count, millis};

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
    /// Some percentile rests on fewer replies than it takes to see it once.
    thin: bool,
}

#[derive(Serialize)]
struct Tick {
    at: String,
    label: String,
}

#[derive(Serialize)]
struct Curve {
    class: &'static str,
    name: &'static str,
    count: String,
    mean: String,
    max: String,
    /// SVG polylines: what the number of replies supports, and what it does not.
    solid: String,
    dashed: String,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    x: String,
    y: String,
    label: &'static str,
    value: String,
    supported: bool,
}

impl LatencyChart {
    /// `None` where no reply was measured.
    pub(super) fn of(latency: &Latencies) -> Option<Self> {
        if latency.turn.count == 0 {
            return None;
        }
        let highest = latency.turn.p999_ms.max(latency.ttft.p999_ms);
        let step = step(highest);
        let top = (highest / step).ceil().max(1.0) * step;
        let mut curves = vec![curve("reply", "Whole reply", &latency.turn, top)];
        if latency.ttft.count > 0 {
            curves.push(curve("ttft", "First token", &latency.ttft, top));
        }
        let lines = (0..=(top / step).round() as u64).map(|index| {
            let value = index as f64 * step;
            Tick { at: format!("{:.1}", y(value, top)), label: if index == 0 { "0".to_owned() } else { axis(value) } }
        });
        let columns =
            PERCENTILES.iter().map(|(name, share)| Tick { at: format!("{:.1}", x(*share)), label: (*name).to_owned() });
        Some(Self {
            columns: columns.collect(),
            lines: lines.collect(),
            thin: curves.iter().any(|curve| curve.points.iter().any(|point| !point.supported)),
            curves,
        })
    }
}

fn curve(class: &'static str, name: &'static str, of: &Quantiles, top: f64) -> Curve {
    let values = [of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms, of.p999_ms];
    let points: Vec<Point> = PERCENTILES
        .iter()
        .zip(values)
        .map(|((label, share), value)| Point {
            x: format!("{:.1}", x(*share)),
            y: format!("{:.1}", y(value, top)),
            label,
            value: millis(value),
            supported: of.count as f64 * (1.0 - share) >= 1.0 - 1e-9,
        })
        .collect();
    let supported = points.iter().take_while(|point| point.supported).count();
    let line =
        |points: &[Point]| points.iter().map(|point| format!("{},{}", point.x, point.y)).collect::<Vec<_>>().join(" ");
    Curve {
        class,
        name,
        count: count(of.count),
        mean: millis(of.mean_ms),
        max: millis(of.max_ms),
        solid: line(&points[..supported]),
        dashed: line(&points[supported.saturating_sub(1)..]),
        points,
    }
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
fn step(highest: f64) -> f64 {
    let least = (highest / MOST_TICKS).max(0.001);
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(power * 10.0)
}

/// A tick's label: round values need no decimals.
fn axis(value: f64) -> String {
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
    fn percentiles_beyond_the_evidence_are_dashed() {
        let turn = Quantiles {
            count: 120,
            p50_ms: 100.0,
            p90_ms: 200.0,
            p95_ms: 250.0,
            p99_ms: 400.0,
            p999_ms: 410.0,
            max_ms: 410.0,
            mean_ms: 120.0,
        };
        let chart = LatencyChart::of(&Latencies { turn, ttft: Quantiles::default(), unanswered_turns: 0 }).unwrap();
        assert_eq!(chart.curves.len(), 1);
        let supported: Vec<bool> = chart.curves[0].points.iter().map(|point| point.supported).collect();
        assert_eq!(supported, [true, true, true, true, false]);
        assert_eq!(chart.curves[0].solid.split(' ').count(), 4);
        assert_eq!(chart.curves[0].dashed.split(' ').count(), 2);
        assert!(chart.thin);
        assert!(
            LatencyChart::of(&Latencies {
                turn: Quantiles::default(),
                ttft: Quantiles::default(),
                unanswered_turns: 3
            })
            .is_none()
        );
    }
}
