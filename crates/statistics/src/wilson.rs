//! Wilson's score interval: the 95 % interval of a rate.
//!
//! It stays within 0 and 1 and is useful at 0 of n and n of n, where the textbook interval has width zero. E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
//! JASA 22 (1927).

use record::summary::Rate;

/// The 97.5 % point of the normal distribution: 95 % lies between it and its negative.
const Z: f64 = 1.959_963_984_540_054;

/// The share `pass / n` with its 95 % interval. Without trials there is no estimate, and the interval is 0 to 1.
///
/// `pass` above `n` counts as `n`.
#[must_use]
pub fn interval(pass: u64, n: u64) -> Rate {
    let method = "wilson 95%".to_owned();
    if n == 0 {
        return Rate { estimate: None, low: 0.0, high: 1.0, method, n };
    }
    let pass = pass.min(n);
    let share = pass as f64 / n as f64;
    let (low, high) = around(share, n as f64, Z);
    // At 0 of n and n of n an end equals the estimate, but rounding can put it slightly beyond.
    let low = if pass == 0 { 0.0 } else { low };
    let high = if pass == n { 1.0 } else { high };
    Rate { estimate: Some(share), low, high, method, n }
}

/// The ends of the interval of a share of `trials`, perhaps no whole number, that reaches `z` standard errors.
#[must_use]
pub fn around(share: f64, trials: f64, z: f64) -> (f64, f64) {
    let z2 = z * z;
    let centre = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let variance = share * (1.0 - share) / trials + z2 / (4.0 * trials * trials);
    let half = z * variance.sqrt() / (1.0 + z2 / trials);
    ((centre - half).clamp(0.0, share), (centre + half).clamp(share, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{number, rows, whole};

    #[test]
    fn the_interval_is_the_published_one() {
        // Low ends after n of n passes, and 81 of 263 (Newcombe 1998, table I, method 3).
        let rows: [(u64, u64, f64, f64); 9] = [
            (3, 3, 0.439, 1.0),
            (5, 5, 0.566, 1.0),
            (10, 10, 0.722, 1.0),
            (20, 20, 0.839, 1.0),
            (50, 50, 0.929, 1.0),
            (100, 100, 0.963, 1.0),
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
        ];
        for (pass, n, low, high) in rows {
            let rate = interval(pass, n);
            assert!((rate.low - low).abs() < 6e-4, "{pass} of {n}: low {} instead of {low}", rate.low);
            assert!((rate.high - high).abs() < 6e-4, "{pass} of {n}: high {} instead of {high}", rate.high);
        }
    }

    #[test]
    fn the_interval_is_that_of_scipy() {
        for row in rows("wilson") {
            let found = interval(whole(&row[0]), whole(&row[1]));
            assert!(
                (found.low - number(&row[2])).abs() < 1e-9 && (found.high - number(&row[3])).abs() < 1e-9,
                "{row}: {found:?}"
            );
        }
    }

    #[test]
    fn without_trials_nothing_is_known() {
        let rate = interval(0, 0);
        assert_eq!((rate.estimate, rate.low, rate.high, rate.n), (None, 0.0, 1.0, 0));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_estimate_and_stays_a_share(n in 1_u64..10_000_000, share in 0.0_f64..=1.0) {
            let pass = (n as f64 * share) as u64;
            let rate = interval(pass, n);
            let estimate = rate.estimate.unwrap();
            prop_assert!(0.0 <= rate.low && rate.low <= estimate && estimate <= rate.high && rate.high <= 1.0);
            prop_assert!(rate.low < rate.high);
        }

        #[test]
        fn the_interval_is_the_mirror_of_that_of_the_failures(n in 1_u64..100_000, share in 0.0_f64..=1.0) {
            let pass = (n as f64 * share) as u64;
            let (passes, failures) = (interval(pass, n), interval(n - pass, n));
            prop_assert!((passes.low - (1.0 - failures.high)).abs() < 1e-9);
            prop_assert!((passes.high - (1.0 - failures.low)).abs() < 1e-9);
        }

        #[test]
        fn more_trials_at_the_same_rate_say_more(pass in 0_u64..1_000, fail in 0_u64..1_000) {
            prop_assume!(pass + fail > 0);
            let few = interval(pass, pass + fail);
            let many = interval(pass * 4, (pass + fail) * 4);
            prop_assert!(many.high - many.low < few.high - few.low);
        }
    }
}
