//! A share that a person wrote, such as 0.95: how many of n trials it requires, and how many it tolerates.
//!
//! A share is the decimal that was written, with up to 15 decimals, so 0.8 of 5 is 4, whatever 0.8 is in binary. There
//! is one rounding rule: for at most 10^(d - 1) trials, a share with d decimals means the rounded count, so 0.67 of 3
//! is 2. With so few trials the shares of two counts differ by at least ten units of the last decimal, so the share can
//! mean only one of them. Otherwise a count must reach the share exactly: 19 of 20 does not reach 0.951, and 0.67 of
//! 100 is 67.
//! count must reach the share exactly: 19 of 20 does not reach 0.951, and 0.67 of 100 is 67.

/// As many as a binary number of 64 bits surely keeps.
const MOST_DECIMALS: usize = 15;

/// `digits / 10^decimals`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

/// The least number of `trials` that reaches the share. Values below 0 count as 0; values above 1, and NaN, as 1.
#[must_use]
pub fn least_of(share: f64, trials: u64) -> u64 {
    let Decimal { digits, decimals } = Decimal::of(share);
    let (unit, all) = (10_u128.pow(decimals), u128::from(trials));
    let exact = (digits * all).div_ceil(unit);
    let stands_for_its_rounding = decimals > 0 && all > 0 && all <= unit / 10;
    if stands_for_its_rounding && exact > 0 {
        let rounded = (2 * (exact - 1) * unit + all) / (2 * all);
        // A share with all decimals was computed, so its last one may be off by one.
        let off = u128::from(decimals as usize == MOST_DECIMALS);
        if rounded + off >= digits {
            return (exact - 1) as u64;
        }
    }
    exact as u64
}

/// Whether `part` of `trials` is at most the share, exactly.
#[must_use]
pub fn allows(share: f64, part: u64, trials: u64) -> bool {
    let Decimal { digits, decimals } = Decimal::of(share);
    u128::from(part) * 10_u128.pow(decimals) <= digits * u128::from(trials)
}

impl Decimal {
    fn of(share: f64) -> Self {
        let share = if share.is_nan() { 1.0 } else { share.clamp(0.0, 1.0) };
        let text = format!("{share:.MOST_DECIMALS$}");
        let text = text.trim_end_matches('0');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or(0);
        Self { digits, decimals: fraction.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_share_asks_for_so_many_trials() {
        let rows = [
            (0.8, 5, 4),
            (0.1 + 0.7, 5, 4),
            (0.9, 8, 8),
            (0.9, 20, 18),
            (0.7, 10, 7),
            (0.95, 20, 19),
            (0.951, 20, 20),
            (0.95, 199, 190),
            (0.995, 200, 199),
            (0.67, 3, 2),
            (0.67, 6, 4),
            (0.67, 9, 6),
            (0.67, 30, 21),
            (0.67, 100, 67),
            (0.667, 30, 20),
            (0.33, 3, 1),
            (0.34, 3, 2),
            (0.38, 8, 3),
            (2.0 / 3.0, 3, 2),
            (5.0 / 7.0, 7, 5),
            (0.0, 9, 0),
            (1.0, 9, 9),
            (0.5, 1, 1),
            (0.5, 0, 0),
            (1e-300, 5, 0),
            (f64::NAN, 5, 5),
            (-1.0, 5, 0),
            (7.0, 5, 5),
            (0.3, u64::MAX, 5_534_023_222_112_865_485),
        ];
        for (share, trials, count) in rows {
            assert_eq!(least_of(share, trials), count, "{share} of {trials}");
        }
    }

    #[test]
    fn a_share_tolerates_at_most_its_rounding() {
        for (share, part, trials, allowed) in
            [(0.1, 1, 10, true), (0.1, 2, 19, false), (0.0, 0, 5, true), (0.0, 1, 5, false), (1.0, 5, 5, true)]
        {
            assert_eq!(allows(share, part, trials), allowed, "{part} of {trials} by {share}");
        }
    }

    proptest! {
        #[test]
        fn a_count_that_is_written_as_a_share_is_that_count(trials in 1_u64..=1_000, part in 0_u64..=1_000) {
            let count = part % (trials + 1);
            prop_assert_eq!(least_of(count as f64 / trials as f64, trials), count);
            // Two decimals distinguish the counts of up to ten trials.
            let (few, some) = (trials.min(10), count % (trials.min(10) + 1));
            let written: f64 = format!("{:.2}", some as f64 / few as f64).parse().unwrap();
            prop_assert_eq!(least_of(written, few), some);
        }

        #[test]
        fn never_more_than_a_twentieth_of_a_trial_is_forgiven(thousandths in 0_u32..=1_000, trials in 0_u64..100_000) {
            let share = f64::from(thousandths) / 1_000.0;
            let count = least_of(share, trials) as f64;
            prop_assert!(count >= share * trials as f64 - 0.05 - 1e-9 && count <= share * trials as f64 + 1.0 + 1e-9);
        }

        #[test]
        fn one_trial_more_asks_for_at_most_one_pass_more(share in 0.0_f64..=1.0, written in 0_u32..=100, trials in 0_u64..10_000) {
            for share in [share, f64::from(written) / 100.0] {
                let step = least_of(share, trials + 1) as i64 - least_of(share, trials) as i64;
                prop_assert!((0..=1).contains(&step), "{} of {}: {}", share, trials, step);
            }
        }
    }
}
