//! Histograms of times: merged, never averaged. Quantiles are read from the merge.

use hdrhistogram::Histogram as Hdr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 1 µs to 1 h with three significant digits. Every histogram has these bounds, so any two merge.
const HIGHEST_MICROS: u64 = 3_600_000_000;

#[derive(Debug, Clone)]
pub struct Latency {
    micros: Hdr<u64>,
    /// The exact longest time. The histogram knows only its bucket.
    longest_micros: u64,
}

impl Default for Latency {
    fn default() -> Self {
        let mut micros =
            Hdr::new_with_bounds(1, HIGHEST_MICROS, 3).expect("the bounds are constants that hdrhistogram accepts");
        micros.auto(false);
        Self { micros, longest_micros: 0 }
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros && self.longest_micros == other.longest_micros
    }
}

impl Latency {
    /// Times beyond an hour count as an hour, except as the maximum.
    pub fn record(&mut self, micros: u64) {
        self.micros.saturating_record(micros);
        self.longest_micros = self.longest_micros.max(micros);
    }

    pub fn merge(&mut self, other: &Self) {
        self.micros.add(&other.micros).expect("all latency histograms have the same bounds");
        self.longest_micros = self.longest_micros.max(other.longest_micros);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// `quantile` is 0 to 1; 0.0 where nothing was recorded.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        if self.micros.is_empty() {
            0.0
        } else {
            millis(self.micros.value_at_quantile(quantile).min(self.longest_micros))
        }
    }

    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            count: self.count(),
            p50_ms: self.quantile_ms(0.50),
            p90_ms: self.quantile_ms(0.90),
            p95_ms: self.quantile_ms(0.95),
            p99_ms: self.quantile_ms(0.99),
            p999_ms: self.quantile_ms(0.999),
            max_ms: millis(self.longest_micros),
            mean_ms: if self.micros.is_empty() { 0.0 } else { (self.micros.mean() / 10.0).round() / 100.0 },
        }
    }
}

/// Percentiles in milliseconds; all 0 where `count` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    pub count: u64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
    pub mean_ms: f64,
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_the_longest_time_and_not_the_end_of_its_bucket() {
        let (mut one, mut other) = (Latency::default(), Latency::default());
        one.record(1_234_567);
        other.record(7_654_321);
        other.merge(&one);
        let found = other.quantiles();
        assert_eq!((found.max_ms, found.p999_ms, one.quantiles().max_ms), (7_654.321, 7_654.321, 1_234.567));
        other.record(2 * HIGHEST_MICROS);
        assert_eq!(other.quantiles().max_ms, 7_200_000.0);
        assert_eq!(Latency::default().quantiles(), Quantiles::default());
    }
}
