//! Cohen's kappa: how much more often two raters agree than by chance.
//!
//! J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960). The 95 %
//! interval uses the large-sample standard error of that paper.

use record::summary::Rate;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The kappa of pairs of labels, with its 95 % interval. There is no estimate without pairs, or if chance alone would
/// agree always.
#[must_use]
pub fn of<T: PartialEq + Copy>(pairs: &[(T, T)]) -> Rate {
    let method = "cohen 95%".to_owned();
    let n = pairs.len();
    let unknown = Rate { estimate: None, low: -1.0, high: 1.0, method: method.clone(), n: n as u64 };
    if n == 0 {
        return unknown;
    }
    let total = n as f64;
    let mut labels: Vec<T> = Vec::new();
    for (first, second) in pairs {
        for label in [*first, *second] {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    let share = |count: usize| count as f64 / total;
    let agreed = share(pairs.iter().filter(|(first, second)| first == second).count());
    let chance: f64 = labels
        .iter()
        .map(|label| {
            let first = pairs.iter().filter(|(first, _)| first == label).count();
            let second = pairs.iter().filter(|(_, second)| second == label).count();
            share(first) * share(second)
        })
        .sum();
    let room = 1.0 - chance;
    if room <= f64::EPSILON {
        return unknown;
    }
    let kappa = (agreed - chance) / room;
    let half = Z * (agreed * (1.0 - agreed) / (total * room * room)).sqrt();
    Rate { estimate: Some(kappa), low: (kappa - half).max(-1.0), high: (kappa + half).min(1.0), method, n: n as u64 }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::reference::{number, rows, whole};

    /// (both yes, first yes and second no, first no and second yes, both no), as in a table of two by two.
    fn table(counts: [usize; 4]) -> Vec<(bool, bool)> {
        let pairs = [(true, true), (true, false), (false, true), (false, false)];
        pairs.into_iter().zip(counts).flat_map(|(pair, count)| std::iter::repeat_n(pair, count)).collect()
    }

    #[test]
    fn kappa_is_that_of_statsmodels() {
        for row in rows("kappa") {
            let counts = [0, 1, 2, 3].map(|place| whole(&row[0][place]) as usize);
            let found = of(&table(counts));
            let values = [found.estimate.unwrap(), found.low, found.high];
            for (value, place) in values.into_iter().zip(1..) {
                assert!((value - number(&row[place])).abs() < 1e-9, "{row}: {found:?}");
            }
        }
    }

    #[test]
    fn textbook_tables() {
        for (counts, kappa, half) in [
            ([20, 5, 10, 15], 0.4, 0.253_9),
            ([45, 15, 25, 15], 0.130_4, 0.208_7),
            ([25, 35, 5, 35], 0.259_3, 0.177_8),
            ([10, 0, 0, 10], 1.0, 0.0),
            ([0, 10, 10, 0], -1.0, 0.0),
        ] {
            let rate = of(&table(counts));
            let estimate = rate.estimate.unwrap();
            assert!((estimate - kappa).abs() < 1e-3, "{counts:?}: {estimate}");
            let expected_high = (kappa + half).min(1.0);
            assert!((rate.high - expected_high).abs() < 2e-3, "{counts:?}: {rate:?}");
        }
        assert_eq!(of::<bool>(&[]).estimate, None);
        assert_eq!(of(&table([7, 0, 0, 0])).estimate, None, "chance alone would agree");
    }
}
