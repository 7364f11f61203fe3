//! How well a threshold separates texts that people labelled good and bad, and the best threshold.
//!
//! The positive class is `pass`: precision is the share of good texts among those that pass, recall the share of good texts
//! that pass. The best threshold has the highest J of W. J. Youden ("Index for rating diagnostic tests", Cancer 3, 1950): the
//! share of good texts that pass minus the share of bad texts that pass.

use record::summary::Rate;
use serde::Serialize;

use crate::wilson;

/// The side of a threshold on which a score passes. A score equal to the threshold always passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    AtLeast,
    AtMost,
}

/// A model's score and a person's label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled {
    /// Finite.
    pub score: f64,
    pub is_good: bool,
}

/// The confusion matrix of a threshold against the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Confusion {
    pub good_passed: u64,
    pub good_failed: u64,
    pub bad_passed: u64,
    pub bad_failed: u64,
}

/// The measures of a [`Confusion`], each with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worth {
    pub accuracy: Rate,
    pub precision: Rate,
    pub recall: Rate,
    pub f1: Rate,
}

/// The threshold that separates best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Best {
    /// The middle of `low` and `high`.
    pub threshold: f64,
    /// Every threshold between these two is equally good, and so is the end whose own score passes: `high` for
    /// [`Side::AtLeast`], `low` for [`Side::AtMost`].
    pub low: f64,
    pub high: f64,
    /// Above 0, up to 1 for a perfect separation.
    pub youdens_j: f64,
    pub confusion: Confusion,
}

impl Side {
    #[must_use]
    pub fn passes(self, score: f64, threshold: f64) -> bool {
        match self {
            Self::AtLeast => score >= threshold,
            Self::AtMost => score <= threshold,
        }
    }
}

impl Confusion {
    #[must_use]
    pub fn of(samples: &[Labelled], side: Side, threshold: f64) -> Self {
        let mut confusion = Self::default();
        for sample in samples {
            *match (sample.is_good, side.passes(sample.score, threshold)) {
                (true, true) => &mut confusion.good_passed,
                (true, false) => &mut confusion.good_failed,
                (false, true) => &mut confusion.bad_passed,
                (false, false) => &mut confusion.bad_failed,
            } += 1;
        }
        confusion
    }

    #[must_use]
    pub fn worth(&self) -> Worth {
        let Self { good_passed, good_failed, bad_passed, bad_failed } = *self;
        let passed_or_good = good_passed + good_failed + bad_passed;
        Worth {
            accuracy: wilson::interval(good_passed + bad_failed, passed_or_good + bad_failed),
            precision: wilson::interval(good_passed, good_passed + bad_passed),
            recall: wilson::interval(good_passed, good_passed + good_failed),
            f1: f1(&wilson::interval(good_passed, passed_or_good)),
        }
    }

    /// Youden's J times the number of good and of bad texts: an integer, which compares without rounding.
    fn separation(&self) -> i128 {
        let [good_passed, good_failed, bad_passed, bad_failed] =
            [self.good_passed, self.good_failed, self.bad_passed, self.bad_failed].map(i128::from);
        good_passed * (bad_passed + bad_failed) - bad_passed * (good_passed + good_failed)
    }

    fn youdens_j(&self) -> f64 {
        let pairs = i128::from(self.good_passed + self.good_failed) * i128::from(self.bad_passed + self.bad_failed);
        self.separation() as f64 / pairs as f64
    }
}

/// The threshold with the highest J. If several ranges have it, the widest range, and of several widest ones the lowest.
///
/// `None` if no threshold is better than chance: all texts are good, all are bad, or the scores do not separate them.
#[must_use]
pub fn best(samples: &[Labelled], side: Side) -> Option<Best> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for stretch in stretches_of(samples, side) {
        match stretches.last_mut() {
            Some(last) if last.confusion.separation() == stretch.confusion.separation() => last.high = stretch.high,
            _ => stretches.push(stretch),
        }
    }
    let greatest = stretches.iter().map(|stretch| stretch.confusion.separation()).max()?;
    if greatest <= 0 {
        return None;
    }
    let equals = stretches.into_iter().filter(|stretch| stretch.confusion.separation() == greatest);
    let Stretch { low, high, confusion } =
        equals.reduce(|widest, next| if next.high - next.low > widest.high - widest.low { next } else { widest })?;
    let middle = f64::midpoint(low, high);
    let threshold = match side {
        _ if low < middle && middle < high => middle,
        // Two numbers with none between them.
        Side::AtLeast => high,
        Side::AtMost => low,
    };
    Some(Best { threshold, low, high, youdens_j: confusion.youdens_j(), confusion })
}

/// The thresholds between two adjacent scores, and their confusion matrix.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    low: f64,
    high: f64,
    confusion: Confusion,
}

fn stretches_of(samples: &[Labelled], side: Side) -> Vec<Stretch> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.score.total_cmp(&b.score));
    let goods = samples.iter().filter(|sample| sample.is_good).count() as u64;
    let bads = samples.len() as u64 - goods;
    let (mut good_below, mut bad_below) = (0, 0);
    let mut stretches = Vec::new();
    for (sample, next) in sorted.iter().zip(sorted.iter().skip(1)) {
        *(if sample.is_good { &mut good_below } else { &mut bad_below }) += 1;
        if sample.score < next.score {
            let (good_above, bad_above) = (goods - good_below, bads - bad_below);
            let [good_passed, good_failed, bad_passed, bad_failed] = match side {
                Side::AtLeast => [good_above, good_below, bad_above, bad_below],
                Side::AtMost => [good_below, good_above, bad_below, bad_above],
            };
            let confusion = Confusion { good_passed, good_failed, bad_passed, bad_failed };
            stretches.push(Stretch { low: sample.score, high: next.score, confusion });
        }
    }
    stretches
}

/// F1 is 2 s / (1 + s), where s is the share of correct passes among texts that pass or should pass. It increases with s, so
/// the ends of the interval of s give the ends of its interval.
fn f1(share: &Rate) -> Rate {
    let of = |share: f64| 2.0 * share / (1.0 + share);
    Rate { estimate: share.estimate.map(of), low: of(share.low), high: of(share.high), ..share.clone() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labelled(goods: &[f64], bads: &[f64]) -> Vec<Labelled> {
        let all =
            |scores: &[f64], is_good| scores.iter().map(move |score| Labelled { score: *score, is_good }).collect();
        let (goods, bads): (Vec<_>, Vec<_>) = (all(goods, true), all(bads, false));
        [goods, bads].concat()
    }

    #[test]
    fn a_threshold_is_worth_what_it_gets_right() {
        let samples = labelled(&[0.9, 0.8, 0.6, 0.4], &[0.7, 0.2, 0.1, 0.1, 0.0, 0.0]);
        let confusion = Confusion::of(&samples, Side::AtLeast, 0.6);
        assert_eq!(confusion, Confusion { good_passed: 3, good_failed: 1, bad_passed: 1, bad_failed: 5 });
        let worth = confusion.worth();
        let estimates =
            [&worth.accuracy, &worth.precision, &worth.recall, &worth.f1].map(|rate| rate.estimate.unwrap());
        for (found, right) in estimates.iter().zip([0.8, 0.75, 0.75, 0.75]) {
            assert!((found - right).abs() < 1e-12, "{estimates:?}");
        }
        assert_eq!(worth.accuracy, wilson::interval(8, 10));
        // The share 3 of 5 has the interval 0.2307 to 0.8824.
        assert!((worth.f1.low - 0.3749).abs() < 6e-4 && (worth.f1.high - 0.9375).abs() < 6e-4, "{:?}", worth.f1);
        let turned = Confusion::of(&samples, Side::AtMost, 0.6);
        assert_eq!(turned, Confusion { good_passed: 2, good_failed: 2, bad_passed: 5, bad_failed: 1 });
        assert_eq!(Confusion::default().worth().f1.estimate, None);
    }

    #[test]
    fn the_best_threshold_is_the_middle_of_those_that_are_worth_the_same() {
        type Row<'a> = (&'a [f64], &'a [f64], Side, Option<(f64, f64, f64)>);
        let rows: [Row<'_>; 9] = [
            (&[0.9, 0.8], &[0.2, 0.4], Side::AtLeast, Some((0.4, 0.8, 1.0))),
            (&[0.9, 0.8], &[0.2, 0.4], Side::AtMost, None),
            (&[0.25, 0.5], &[1.0, 0.75], Side::AtMost, Some((0.5, 0.75, 1.0))),
            (&[-3.0, 5.0, 6.0], &[-8.0, -6.0, -1.0], Side::AtLeast, Some((-1.0, 5.0, 2.0 / 3.0))),
            // A score that a good and a bad one share changes nothing.
            (&[0.5, 1.0], &[0.0, 0.5], Side::AtLeast, Some((0.0, 1.0, 0.5))),
            (&[0.5, 0.5], &[0.5], Side::AtLeast, None),
            (&[0.5, 0.7], &[], Side::AtLeast, None),
            (&[], &[0.5, 0.7], Side::AtLeast, None),
            (&[], &[], Side::AtMost, None),
        ];
        for (goods, bads, side, right) in rows {
            let found = best(&labelled(goods, bads), side).map(|best| (best.low, best.high, best.youdens_j));
            assert_eq!(found, right, "{goods:?} {bads:?} {side:?}");
        }
        let narrow = best(&labelled(&[1.0 + f64::EPSILON], &[1.0]), Side::AtLeast).unwrap();
        assert!(narrow.threshold == narrow.high);
    }

    proptest! {
        #[test]
        fn no_threshold_is_better_than_the_best(
            rows in prop::collection::vec((0_u8..20, any::<bool>()), 0..40),
            at_least in any::<bool>(),
        ) {
            let side = if at_least { Side::AtLeast } else { Side::AtMost };
            let samples: Vec<_> =
                rows.iter().map(|(score, is_good)| Labelled { score: f64::from(*score), is_good: *is_good }).collect();
            let greatest =
                (-1_i8..=20).map(|threshold| Confusion::of(&samples, side, f64::from(threshold) + 0.5).separation()).max();
            match best(&samples, side) {
                None => prop_assert!(greatest <= Some(0)),
                Some(best) => {
                    prop_assert_eq!(Confusion::of(&samples, side, best.threshold).separation(), greatest.unwrap());
                    prop_assert_eq!(best.confusion.separation(), greatest.unwrap());
                    prop_assert!(best.low <= best.threshold && best.threshold <= best.high && best.youdens_j <= 1.0);
                }
            }
        }
    }
}
