//! The success rate that a judge's verdicts stand for, corrected by how often the judge is wrong.
//!
//! The estimate is W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American Journal of
//! Epidemiology 107 (1978), limited to 0 and 1. The interval is Z. Lang and J. Reiczigel, "Confidence limits for prevalence of disease
//! adjusted for estimated sensitivity and specificity", Preventive Veterinary Medicine 113 (2014): it carries the uncertainty of all
//! three rates. C. Lee et al., arXiv:2511.21140, use both for judges that are language models.

use record::summary::Rate;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A share of a number of draws, perhaps no whole number: draws that depend on each other count as fewer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    pub share: f64,
    pub draws: f64,
}

/// How a judge agrees with the labels of people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// Of what people find not met, the share that the judge also finds not met.
    pub sensitivity: Observed,
    /// Of what people find met, the share that the judge also finds met.
    pub specificity: Observed,
}

impl Accuracy {
    /// `None`: a rate has no labels.
    #[must_use]
    pub fn of(sensitivity: &Rate, specificity: &Rate) -> Option<Self> {
        let observed = |rate: &Rate| Some(Observed { share: rate.estimate?, draws: rate.n as f64 });
        Some(Self { sensitivity: observed(sensitivity)?, specificity: observed(specificity)? })
    }
}

/// The share that people would find met, if the judge finds this share met. `None`: nothing was judged, or the judge is no better than
/// chance (`sensitivity + specificity` is at most 1), so its verdicts say nothing.
#[must_use]
pub fn rate(met: Observed, judge: Accuracy) -> Option<Rate> {
    let Accuracy { sensitivity, specificity } = judge;
    let power = sensitivity.share + specificity.share - 1.0;
    let known = met.draws > 0.0 && sensitivity.draws > 0.0 && specificity.draws > 0.0;
    if !known || power <= 1e-9 {
        return None;
    }
    let estimate = ((met.share + sensitivity.share - 1.0) / power).clamp(0.0, 1.0);
    let draws = met.draws + Z * Z;
    let share = (met.share * met.draws + Z * Z / 2.0) / draws;
    let (found, kept) = (with_two_more(sensitivity), with_two_more(specificity));
    let power = found.share + kept.share - 1.0;
    let n = met.draws.round() as u64;
    let rate = |low: f64, high: f64| {
        let (low, high) = (low.clamp(0.0, estimate), high.clamp(estimate, 1.0));
        Some(Rate { estimate: Some(estimate), low, high, method: "lang-reiczigel 95%".to_owned(), n })
    };
    if power <= 1e-9 {
        return rate(0.0, 1.0);
    }
    let adjusted = ((share + found.share - 1.0) / power).clamp(0.0, 1.0);
    let (of_found, of_kept) = (found.variance(), kept.variance());
    let shift = 2.0 * Z * Z * (adjusted * of_kept - (1.0 - adjusted) * of_found);
    let variance = share * (1.0 - share) / draws + adjusted.powi(2) * of_kept + (1.0 - adjusted).powi(2) * of_found;
    let half = Z * variance.sqrt() / power;
    rate(adjusted + shift - half, adjusted + shift + half)
}

/// With one success and one failure more, so that a judge that was never wrong is not taken as perfect.
fn with_two_more(Observed { share, draws }: Observed) -> Observed {
    Observed { share: (share * draws + 1.0) / (draws + 2.0), draws: draws + 2.0 }
}

impl Observed {
    /// Of the share.
    fn variance(self) -> f64 {
        self.share * (1.0 - self.share) / self.draws
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wilson::interval;

    /// `reference/noise.py`.
    const REFERENCE: &str = include_str!("../reference/noise.json");

    #[derive(serde::Deserialize)]
    struct Reference {
        corrected: Vec<Row>,
    }

    #[derive(serde::Deserialize)]
    struct Row {
        judged: [u64; 2],
        sensitivity: [u64; 2],
        specificity: [u64; 2],
        rate: [f64; 3],
    }

    fn observed([count, of]: [u64; 2]) -> Observed {
        Observed { share: count as f64 / of as f64, draws: of as f64 }
    }

    #[test]
    fn rates_are_those_of_the_papers() {
        let reference: Reference = serde_json::from_str(REFERENCE).unwrap();
        for row in reference.corrected {
            let judge = Accuracy { sensitivity: observed(row.sensitivity), specificity: observed(row.specificity) };
            let found = rate(observed(row.judged), judge).unwrap();
            let [estimate, low, high] = row.rate;
            let off = |found: f64, expected: f64| (found - expected).abs() > 1e-9;
            let wrong = off(found.estimate.unwrap(), estimate) || off(found.low, low) || off(found.high, high);
            assert!(!wrong, "{found:?}, not {:?}", row.rate);
        }
    }

    #[test]
    fn a_judge_that_guesses_says_nothing() {
        let known = |sensitivity: (u64, u64), specificity: (u64, u64)| {
            Accuracy::of(&interval(sensitivity.0, sensitivity.1), &interval(specificity.0, specificity.1))
        };
        let met = Observed { share: 0.8, draws: 50.0 };
        assert_eq!(known((0, 0), (5, 5)), None);
        for guessing in [known((10, 20), (10, 20)), known((1, 20), (5, 20))] {
            assert_eq!(rate(met, guessing.unwrap()), None);
        }
        let good = known((18, 20), (19, 20)).unwrap();
        assert_eq!(rate(Observed { share: 0.0, draws: 0.0 }, good), None);
        let drop = |share| rate(Observed { share, draws: 400.0 }, good).unwrap().estimate.unwrap();
        // A judge that misses some faults hides a part of a drop: the correction brings it back.
        assert!((drop(0.9) - drop(0.8) - 0.1 / 0.85).abs() < 1e-9);
    }

    /// `cargo xtask calibrate` plays 10,000 of them for more judges.
    #[test]
    fn the_interval_holds_the_true_rate_under_planted_errors() {
        use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng as _};
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut count = |of: u64, chance: f64| {
            (0..of).filter(|_| ((draw.next_u64() >> 11) as f64) < chance * (1_u64 << 53) as f64).count() as u64
        };
        let (truth, sensitivity, specificity) = (0.9, 0.95, 0.8);
        let (mut corrected, mut uncorrected) = (0, 0);
        for _ in 0..500 {
            let met = count(400, truth);
            let judged = count(met, specificity) + count(400 - met, 1.0 - sensitivity);
            let judge = Accuracy {
                sensitivity: observed([count(60, sensitivity), 60]),
                specificity: observed([count(60, specificity), 60]),
            };
            let found = rate(observed([judged, 400]), judge).unwrap();
            corrected += u32::from((found.low..=found.high).contains(&truth));
            let plain = interval(judged, 400);
            uncorrected += u32::from((plain.low..=plain.high).contains(&truth));
        }
        assert!(corrected >= 465 && uncorrected <= 5, "{corrected} and {uncorrected} of 500");
    }

    proptest! {
        #[test]
        fn a_rate_stays_a_share_and_in_its_interval(
            met in 0_u64..300, more in 1_u64..300, found in 0_u64..40, missed in 1_u64..40, kept in 0_u64..40, lost in 1_u64..40,
        ) {
            let judge = Accuracy {
                sensitivity: observed([found, found + missed]),
                specificity: observed([kept, kept + lost]),
            };
            let Some(rate) = rate(observed([met, met + more]), judge) else {
                prop_assert!(judge.sensitivity.share + judge.specificity.share <= 1.0 + 1e-9);
                return Ok(());
            };
            let estimate = rate.estimate.unwrap();
            prop_assert!(0.0 <= rate.low && rate.low <= estimate && estimate <= rate.high && rate.high <= 1.0, "{:?}", rate);
        }
    }
}
