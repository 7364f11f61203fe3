//! The slope of Theil and Sen: the median of the slopes between all pairs of points, with an interval.
//!
//! A few points far off change it little, so a moment of trouble is no trend.

/// Two-sided 99 % of the normal distribution.
const Z_99: f64 = 2.575_829_303_548_900_4;

/// A slope, and the 99 % interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    pub slope: f64,
    pub low: f64,
    pub high: f64,
}

impl Slope {
    /// Whether the interval has no 0 in it.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Of points (x, y) with different x; `None` for fewer than two.
///
/// The interval is Sen's (1968), from the variance of Kendall's statistic with ties of y, as in `theilslopes` of `SciPy`.
/// `reference/theil_sen.py` makes the values of the tests.
#[must_use]
pub fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (index, (x, y)) in points.iter().enumerate() {
        slopes.extend(
            points[..index].iter().filter(|before| before.0 != *x).map(|before| (y - before.1) / (x - before.0)),
        );
    }
    slopes.sort_by(f64::total_cmp);
    let last = slopes.len().checked_sub(1)?;
    let middle = (slopes[last / 2] + slopes[slopes.len() / 2]) / 2.0;
    let (many, spread) = (slopes.len() as f64, Z_99 * variance(points).sqrt());
    let low = ((many - spread) / 2.0).round_ties_even() - 1.0;
    let high = ((many + spread) / 2.0).round_ties_even();
    let at = |place: f64| slopes[(place.max(0.0) as usize).min(last)];
    Some(Slope { slope: middle, low: at(low), high: at(high) })
}

/// Of Kendall's statistic, if there is no trend.
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |many: usize| {
        let many = many as f64;
        many * (many - 1.0) * (2.0 * many + 5.0)
    };
    let mut values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|one, next| one == next).map(|tied| term(tied.len())).sum();
    (term(points.len()) - ties) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(points: impl IntoIterator<Item = (f64, f64)>) -> [f64; 3] {
        let points: Vec<(f64, f64)> = points.into_iter().collect();
        let Slope { slope, low, high } = slope(&points).unwrap();
        [slope, low, high]
    }

    fn of_values<const N: usize>(values: [f64; N]) -> [f64; 3] {
        of((0_u32..).map(f64::from).zip(values))
    }

    /// `reference/theil_sen.py`.
    #[test]
    fn slopes_and_intervals_are_those_of_scipy() {
        let noise =
            (0_u32..30).map(|i| (f64::from(i), 100.0 + 2.0 * f64::from(i) + (f64::from(i * 7919 % 101) - 50.0) / 10.0));
        let gap = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 9.0, 10.0, 11.0, 12.0];
        let gap = gap.into_iter().zip([3.1, 2.7, 3.3, 2.9, 3.0, 3.4, 2.8, 3.2, 2.6, 3.05]);
        for (name, found, expected) in [
            ("a line", of_values([5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 23.0]), [2.0, 2.0, 2.0]),
            ("one outlier", of_values([5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 400.0]), [2.0, 2.0, 49.125]),
            (
                "ties",
                of_values([1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 0.9, 0.9, 1.0, 0.9, 0.9, 0.8]),
                [-0.011_805_555_555_6, -0.025, 0.0],
            ),
            ("noise and a gap", of(gap), [-0.01, -0.1, 0.1]),
            ("noise and a slope", of(noise), [2.06, 1.891_666_666_67, 2.3125]),
        ] {
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{name}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn a_flat_line_is_certain_of_nothing() {
        let flat: Vec<(f64, f64)> = (0_u32..20).map(|x| (f64::from(x), 1.0)).collect();
        let found = slope(&flat).unwrap();
        assert_eq!((found.slope, found.low, found.high, found.is_certain()), (0.0, 0.0, 0.0, false));
        assert_eq!((slope(&flat[..1]), slope(&[])), (None, None));
    }

    /// Noise without a trend: the interval has no 0 in it in about 1 % of the sets.
    #[test]
    fn one_set_in_a_hundred_without_a_trend_seems_to_have_one() {
        let mut state = 20_261_123_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64
        };
        let certain = (0..2_000)
            .filter(|_| {
                let points: Vec<(f64, f64)> = (0_u32..25).map(|x| (f64::from(x), uniform())).collect();
                slope(&points).is_some_and(|slope| slope.is_certain())
            })
            .count();
        assert!((5..=40).contains(&certain), "{certain} of 2,000");
    }
}
