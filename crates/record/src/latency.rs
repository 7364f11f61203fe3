//! Histograms of times: merged, never averaged. Quantiles are read from the merge.

use hdrhistogram::Histogram as Hdr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 1 µs to 1 h at three significant digits: every histogram has these bounds, so any two merge.
const HIGHEST_MICROS: u64 = 3_600_000_000;

#[derive(Debug, Clone)]
pub struct Latency {
    micros: Hdr<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        let mut micros =
            Hdr::new_with_bounds(1, HIGHEST_MICROS, 3).expect("the bounds are constants that hdrhistogram accepts");
        micros.auto(false);
        Self { micros }
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}

impl Latency {
    /// Times beyond an hour count as an hour.
    pub fn record(&mut self, micros: u64) {
        self.micros.saturating_record(micros);
    }

    pub fn merge(&mut self, other: &Self) {
        self.micros.add(&other.micros).expect("all latency histograms have the same bounds");
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
            millis(self.micros.value_at_quantile(quantile).min(self.micros.max()))
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
            max_ms: if self.micros.is_empty() { 0.0 } else { millis(self.micros.max()) },
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
