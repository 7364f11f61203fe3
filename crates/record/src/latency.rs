//! Percentiles of times, and how many times each percentile needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Percentiles in milliseconds; all 0 or `null` where `count` is 0.
///
/// A percentile of the tail is `null` below its floor: with fewer times, the chance is more than 1 % that fewer than two
/// of them lie beyond the true percentile, so that the figure is the luck of one time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    pub count: u64,
    pub p50_ms: f64,
    /// `null` below 64 times.
    pub p90_ms: Option<f64>,
    /// `null` below 130 times.
    pub p95_ms: Option<f64>,
    /// `null` below 662 times.
    pub p99_ms: Option<f64>,
    /// `null` below 6,636 times.
    pub p999_ms: Option<f64>,
    pub max_ms: f64,
    pub mean_ms: f64,
}

/// The fewest samples of which gabfest states a percentile of the tail, by percentile.
pub const FLOORS: [(f64, u64); 4] = [(0.90, 64), (0.95, 130), (0.99, 662), (0.999, 6_636)];

/// The fewest samples of which a percentile of the tail is stated; 1 up to the median.
#[must_use]
pub fn floor_of(share: f64) -> u64 {
    if share <= 0.5 {
        return 1;
    }
    if let Some((_, floor)) = FLOORS.iter().find(|(known, _)| *known == share) {
        return *floor;
    }
    // At most one sample beyond the percentile has a chance of share^n + n (1 - share) share^(n - 1), which falls with n.
    let is_enough = |samples: f64| share.powf(samples) + samples * (1.0 - share) * share.powf(samples - 1.0) <= 0.01;
    let (mut low, mut high) = (1_u64, 10_000_000_u64);
    while low < high {
        let middle = u64::midpoint(low, high);
        if is_enough(middle as f64) { high = middle } else { low = middle + 1 }
    }
    low
}

impl Quantiles {
    /// Of times in microseconds.
    #[must_use]
    pub fn of(micros: &Histogram) -> Self {
        let micros = micros.settled();
        let [p90_ms, p95_ms, p99_ms, p999_ms] =
            FLOORS.map(|(share, floor)| (micros.count() >= floor).then(|| millis(micros.quantile(share))));
        Self {
            count: micros.count(),
            p50_ms: millis(micros.quantile(0.50)),
            p90_ms,
            p95_ms,
            p99_ms,
            p999_ms,
            max_ms: millis(micros.highest()),
            mean_ms: (micros.mean() / 10.0).round() / 100.0,
        }
    }
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance that at most one of `samples` lies beyond the percentile.
    fn chance_of_at_most_one(share: f64, samples: u64) -> f64 {
        let below = |samples: u64| share.powi(i32::try_from(samples).unwrap());
        below(samples) + samples as f64 * (1.0 - share) * below(samples - 1)
    }

    #[test]
    fn a_floor_is_the_fewest_samples_of_which_two_are_beyond_the_percentile_with_a_chance_of_99_percent() {
        for (share, floor) in FLOORS {
            assert!(chance_of_at_most_one(share, floor) <= 0.01, "{share}");
            assert!(chance_of_at_most_one(share, floor - 1) > 0.01, "{share}");
            assert_eq!((floor_of(share), floor_of(share + 1e-15)), (floor, floor), "{share}");
        }
    }

    #[test]
    fn percentiles_below_their_floors_are_unknown() {
        let of = |count: u64| {
            let mut times = Histogram::default();
            (1..=count).for_each(|micros| times.record(micros));
            let found = Quantiles::of(&times);
            [found.p90_ms, found.p95_ms, found.p99_ms, found.p999_ms].map(|found| found.is_some())
        };
        for (count, expected) in [
            (0, [false; 4]),
            (63, [false; 4]),
            (64, [true, false, false, false]),
            (130, [true, true, false, false]),
            (661, [true, true, false, false]),
            (662, [true, true, true, false]),
            (6_635, [true, true, true, false]),
            (6_636, [true; 4]),
        ] {
            assert_eq!(of(count), expected, "{count}");
        }
    }

    #[test]
    fn the_maximum_is_the_longest_time_and_not_the_end_of_its_bucket() {
        let mut times = Histogram::default();
        times.record(1_234_567);
        let found = Quantiles::of(&times);
        assert_eq!((found.max_ms, found.p50_ms, found.mean_ms), (1_234.567, 1_234.567, 1_234.57));
        times.record(7_200_000_000);
        assert_eq!(Quantiles::of(&times).max_ms, 7_200_000.0);
        assert_eq!(Quantiles::of(&Histogram::default()), Quantiles::default());
    }
}
