//! Whether a figure of a soak drifts: a slope that is certain, and large enough to matter.

use record::summary::{DriftFigure, DriftName};

use crate::theil_sen;

/// Fewer slices decide nothing.
pub const LEAST_SLICES: usize = 10;
/// Smaller changes over the whole time are no drift, however certain.
const LEAST_SHARE: f64 = 0.05;
/// The same for rates, of which 5 % may be a single conversation.
const LEAST_OF_RATE: f64 = 0.01;
const SECONDS_PER_HOUR: f64 = 3_600.0;

/// Of points (seconds, value); `None` with fewer than [`LEAST_SLICES`].
#[must_use]
pub fn figure(name: DriftName, points: &[(f64, f64)]) -> Option<DriftFigure> {
    if points.len() < LEAST_SLICES {
        return None;
    }
    let found = theil_sen::slope(points)?;
    let (first, last) = (points.first()?.0, points.last()?.0);
    let median = median(points);
    let change = found.slope * (last - first);
    let least = match name {
        DriftName::PassRate | DriftName::ErrorRate => LEAST_OF_RATE,
        _ => LEAST_SHARE * median.abs(),
    };
    Some(DriftFigure {
        name,
        slices: points.len() as u64,
        median,
        slope_per_hour: found.slope * SECONDS_PER_HOUR,
        low_per_hour: found.low * SECONDS_PER_HOUR,
        high_per_hour: found.high * SECONDS_PER_HOUR,
        change,
        drifts: found.is_certain() && change.abs() >= least,
    })
}

fn median(points: &[(f64, f64)]) -> f64 {
    let mut values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let many = values.len();
    (values[(many - 1) / 2] + values[many / 2]) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes.
    fn minutes(value: impl Fn(f64) -> f64, many: u32) -> Vec<(f64, f64)> {
        (0..many).map(f64::from).map(|minute| (minute * 60.0, value(minute))).collect()
    }

    #[test]
    fn a_planted_slow_down_has_its_slope() {
        // 1 % of 200 ms each minute, and noise of ± 3 %.
        let noise = |minute: f64| 1.0 + 0.03 * (minute * 2.7).sin();
        let found = figure(DriftName::ResponseP50Ms, &minutes(|at| (200.0 + 2.0 * at) * noise(at), 30)).unwrap();
        assert!(found.drifts, "{found:?}");
        assert!(found.low_per_hour < 120.0 && found.high_per_hour > 120.0, "{found:?}");
        assert!((found.slope_per_hour - 120.0).abs() < 12.0, "{found:?}");
        assert!((found.change - 58.0).abs() < 6.0, "{found:?}");
        let level = figure(DriftName::ResponseP50Ms, &minutes(|at| 200.0 * noise(at), 30)).unwrap();
        assert!(!level.drifts, "{level:?}");
    }

    #[test]
    fn a_small_change_is_no_drift_and_a_percentage_point_of_a_rate_is() {
        let slowly = |name, per_minute: f64| figure(name, &minutes(|at| 1.0 - per_minute * at, 30)).unwrap();
        assert!(!slowly(DriftName::OutputTokens, 0.001).drifts, "3 % over 29 minutes");
        assert!(slowly(DriftName::OutputTokens, 0.002).drifts);
        assert!(slowly(DriftName::PassRate, 0.001).drifts, "3 percentage points");
        assert!(!slowly(DriftName::PassRate, 0.0001).drifts);
    }

    #[test]
    fn few_slices_decide_nothing() {
        assert_eq!(figure(DriftName::ErrorRate, &minutes(|at| at, 9)), None);
        assert!(figure(DriftName::ErrorRate, &minutes(|at| at, 10)).is_some_and(|found| found.drifts));
    }
}
