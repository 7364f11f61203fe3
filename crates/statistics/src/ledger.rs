//! The flake ledger: what the nights of one case say about its success rate now.
//!
//! The belief is a Beta distribution. It begins with Jeffreys' prior, Beta(½, ½), and each night adds its passes and failures. A
//! night counts half after [`HALF_LIFE`] more nights, because the agent and its provider change. The trials of one night are
//! more alike than those of different nights; a night of n trials counts as n / (1 + (n − 1) ρ) trials, where ρ is their
//! correlation ([`night_correlation`]).
//!
//! J. G. Skellam, "A probability distribution derived from the binomial distribution by regarding the probability of success
//! as variable between the sets of trials", JRSS B 10 (1948); M. S. Ridout, C. G. B. Demétrio and D. Firth, "Estimating
//! intraclass correlation for binary data", Biometrics 55 (1999).

use schemars::JsonSchema;
use serde::Serialize;
use statrs::function::{
    beta::{beta_reg, inv_beta_reg, ln_beta},
    factorial::ln_binomial,
};

/// After so many nights, the evidence of a night counts half, unless the user sets another number. All nights then weigh as much
/// as the last ten: a fix shows within a week, and one bad night does not decide.
pub const HALF_LIFE: f64 = 7.0;
/// A case is stable if its success rate is at least this: one failure in fifty.
pub const STABLE_FROM: f64 = 0.98;
/// A case is broken if its success rate is at most this.
pub const BROKEN_TO: f64 = 0.2;
/// A case with fewer nights is new.
pub const NEW_BELOW: u64 = 3;
/// The correlation is not estimated from fewer pairs of nights of one case.
const LEAST_NIGHTS: u64 = 5;
/// The most that trials of one night may be alike: at 1, a night would count as one trial whatever its size.
const MOST_CORRELATION: f64 = 0.95;

/// The trials of a case in one night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcomes {
    pub passed: u64,
    /// Those with a result about the agent.
    pub trials: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Fewer than [`NEW_BELOW`] nights.
    New,
    /// The success rate is probably at least [`STABLE_FROM`].
    Stable,
    /// The success rate is probably between the two bounds.
    Flaky,
    /// The success rate is probably at most [`BROKEN_TO`].
    Broken,
}

/// What is believed about the success rate of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Belief {
    pub state: State,
    /// The probabilities that the success rate is at least [`STABLE_FROM`], between the bounds, and at most [`BROKEN_TO`].
    pub stable: f64,
    pub flaky: f64,
    pub broken: f64,
    /// The mean, and a 95 % credible interval.
    pub rate: f64,
    pub low: f64,
    pub high: f64,
    /// Of the Beta distribution.
    pub alpha: f64,
    pub beta: f64,
    /// Nights with a result.
    pub nights: u64,
    pub passed: u64,
    pub trials: u64,
}

impl State {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Stable => "stable",
            Self::Flaky => "flaky",
            Self::Broken => "broken",
        }
    }
}

impl Belief {
    /// What the nights of a case say, the earliest first. `correlation`: of trials of one night; `half_life`: in nights.
    #[must_use]
    pub fn of(nights: &[Outcomes], correlation: f64, half_life: f64) -> Self {
        let played: Vec<&Outcomes> = nights.iter().filter(|night| night.trials > 0).collect();
        let (mut alpha, mut beta) = (0.5, 0.5);
        for (age, night) in played.iter().rev().enumerate() {
            let trials = night.trials as f64;
            let weight = (-(age as f64) / half_life).exp2() / (1.0 + (trials - 1.0) * correlation);
            alpha += weight * night.passed as f64;
            beta += weight * (night.trials - night.passed) as f64;
        }
        let broken = beta_reg(alpha, beta, BROKEN_TO);
        let stable = beta_reg(beta, alpha, 1.0 - STABLE_FROM);
        let flaky = (1.0 - stable - broken).max(0.0);
        let nights = played.len() as u64;
        let state = match nights {
            ..NEW_BELOW => State::New,
            _ if stable >= flaky && stable >= broken => State::Stable,
            _ if broken > flaky => State::Broken,
            _ => State::Flaky,
        };
        Self {
            state,
            stable,
            flaky,
            broken,
            rate: alpha / (alpha + beta),
            low: inv_beta_reg(alpha, beta, 0.025),
            high: inv_beta_reg(alpha, beta, 0.975),
            alpha,
            beta,
            nights,
            passed: played.iter().map(|night| night.passed).sum(),
            trials: played.iter().map(|night| night.trials).sum(),
        }
    }

    /// The chance of so few passes, or fewer, in a further night, if nothing changed: the lower tail of the beta-binomial distribution.
    /// `correlation`: of trials of one night. 1 without trials.
    #[must_use]
    pub fn chance_of_at_most(&self, night: Outcomes, correlation: f64) -> f64 {
        if night.trials == 0 {
            return 1.0;
        }
        let (alpha, beta) = self.of_a_night(correlation);
        let n = night.trials;
        let chance = |passed: u64| {
            let (pass, fail) = (passed as f64, (n - passed) as f64);
            (ln_binomial(n, passed) + ln_beta(pass + alpha, fail + beta) - ln_beta(alpha, beta)).exp()
        };
        (0..=night.passed.min(n)).map(chance).sum::<f64>().min(1.0)
    }

    /// The Beta distribution of the rate of one further night: that of the belief, wider by how much nights differ.
    fn of_a_night(&self, correlation: f64) -> (f64, f64) {
        // The correlation of two trials of that night: from the belief, 1 / (α + β + 1), and from the night.
        let of_belief = 1.0 / (self.alpha + self.beta + 1.0);
        let both = of_belief + (1.0 - of_belief) * correlation;
        let size = 1.0 / both - 1.0;
        (self.rate * size, (1.0 - self.rate) * size)
    }
}

/// How much alike trials of one night are, over all cases: the intraclass correlation ρ, by analysis of variance. 0: nights
/// differ no more than by chance, or there are fewer than five nights to compare. Each list has the nights of one case.
///
/// A change of the agent within the nights counts as a difference between nights too, so the estimate is rather too high than too low.
#[must_use]
pub fn night_correlation<'a>(cases: impl IntoIterator<Item = &'a [Outcomes]>) -> f64 {
    known_night_correlation(cases).unwrap_or(0.0)
}

/// The same; `None` with fewer than five nights to compare, or with one trial a night.
#[must_use]
pub fn known_night_correlation<'a>(cases: impl IntoIterator<Item = &'a [Outcomes]>) -> Option<f64> {
    let (mut between, mut within, mut sizes) = (0.0, 0.0, 0.0);
    let (mut nights_free, mut trials_free) = (0_u64, 0_u64);
    for nights in cases {
        let played: Vec<&Outcomes> = nights.iter().filter(|night| night.trials > 0).collect();
        if played.len() < 2 {
            continue;
        }
        let sum = |of: fn(&Outcomes) -> f64| played.iter().map(|night| of(night)).sum::<f64>();
        let trials = sum(|night| night.trials as f64);
        let mean = sum(|night| night.passed as f64) / trials;
        for night in &played {
            let n = night.trials as f64;
            let rate = night.passed as f64 / n;
            between += n * (rate - mean).powi(2);
            within += n * rate * (1.0 - rate);
            trials_free += night.trials - 1;
        }
        sizes += trials - sum(|night| (night.trials as f64).powi(2)) / trials;
        nights_free += played.len() as u64 - 1;
    }
    if nights_free < LEAST_NIGHTS || trials_free == 0 {
        return None;
    }
    let (between, within) = (between / nights_free as f64, within / trials_free as f64);
    let size = sizes / nights_free as f64;
    let spread = between + (size - 1.0) * within;
    Some(if spread <= 0.0 { 0.0 } else { ((between - within) / spread).clamp(0.0, MOST_CORRELATION) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by reference/ledger.py.
    const REFERENCE: &str = include_str!("../reference/ledger.json");

    #[test]
    fn few_nights_do_not_tell_whether_nights_differ() {
        let known = |number: usize| {
            let nights = vec![Outcomes { passed: 9, trials: 10 }; number];
            known_night_correlation([nights.as_slice()])
        };
        assert_eq!((known(1), known(5), known(6)), (None, None, Some(0.0)));
    }

    fn close(found: f64, right: &serde_json::Value, what: &str) {
        let right = right.as_f64().unwrap();
        assert!((found - right).abs() <= 1e-8 + 1e-6 * right.abs(), "{what}: {found} instead of {right}");
    }

    fn nights(of: &serde_json::Value) -> Vec<Outcomes> {
        let pair = |night: &serde_json::Value| Outcomes {
            passed: night[0].as_u64().unwrap(),
            trials: night[1].as_u64().unwrap(),
        };
        of.as_array().unwrap().iter().map(pair).collect()
    }

    #[test]
    fn beliefs_are_those_of_scipy() {
        let reference: serde_json::Value = serde_json::from_str(REFERENCE).unwrap();
        let rows = reference["beliefs"].as_array().unwrap();
        assert!(rows.len() >= 6);
        for row in rows {
            let (correlation, half_life) = (row["correlation"].as_f64().unwrap(), row["half_life"].as_f64().unwrap());
            let found = Belief::of(&nights(&row["nights"]), correlation, half_life);
            let what = row["nights"].to_string();
            for (name, value) in [
                ("alpha", found.alpha),
                ("beta", found.beta),
                ("rate", found.rate),
                ("low", found.low),
                ("high", found.high),
                ("stable", found.stable),
                ("flaky", found.flaky),
                ("broken", found.broken),
            ] {
                close(value, &row[name], &format!("{name} of {what}"));
            }
            assert_eq!(found.state.name(), row["state"], "{what}");
            for next in row["next"].as_array().unwrap() {
                let night = Outcomes { passed: next[0].as_u64().unwrap(), trials: next[1].as_u64().unwrap() };
                close(found.chance_of_at_most(night, correlation), &next[2], &format!("{next} after {what}"));
            }
        }
    }

    #[test]
    fn correlations_are_those_of_the_analysis_of_variance() {
        let reference: serde_json::Value = serde_json::from_str(REFERENCE).unwrap();
        for row in reference["correlations"].as_array().unwrap() {
            let cases: Vec<Vec<Outcomes>> = row["cases"].as_array().unwrap().iter().map(nights).collect();
            close(night_correlation(cases.iter().map(Vec::as_slice)), &row["correlation"], "correlation");
        }
    }

    #[test]
    fn a_case_without_nights_is_new_and_a_fix_shows_within_a_week() {
        assert_eq!(Belief::of(&[], 0.0, HALF_LIFE).state, State::New);
        let of = |passed| Outcomes { passed, trials: 20 };
        let broken: Vec<Outcomes> = vec![of(0); 30];
        assert_eq!(Belief::of(&broken, 0.0, HALF_LIFE).state, State::Broken);
        let fixed: Vec<Outcomes> = broken.iter().copied().chain(vec![of(20); 7]).collect();
        assert!(Belief::of(&fixed, 0.0, HALF_LIFE).rate > 0.45);
        let nothing = Outcomes::default();
        assert_eq!(Belief::of(&[nothing; 9], 0.0, HALF_LIFE).nights, 0, "a night without a result says nothing");
    }

    /// Beta-binomial nights with a planted correlation, drawn from a generator with a fixed seed.
    #[test]
    fn a_planted_correlation_is_found() {
        let mut state = 7_u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for planted in [0.0, 0.1, 0.3] {
            let cases: Vec<Vec<Outcomes>> = (0..60)
                .map(|_| {
                    let night = |_| {
                        let rate = if planted == 0.0 {
                            0.8
                        } else {
                            let size = 1.0 / planted - 1.0;
                            inv_beta_reg(0.8 * size, 0.2 * size, chance().clamp(1e-9, 1.0 - 1e-9))
                        };
                        Outcomes { passed: (0..20).filter(|_| chance() < rate).count() as u64, trials: 20 }
                    };
                    (0..20).map(night).collect()
                })
                .collect();
            let found = night_correlation(cases.iter().map(Vec::as_slice));
            assert!((found - planted).abs() < 0.03, "{found} instead of {planted}");
        }
    }

    /// If nothing changed, a warning at 1 % comes in at most about one of a hundred nights, also if nights differ.
    #[test]
    fn the_chance_of_a_bad_night_keeps_its_rate() {
        let before: Vec<Outcomes> = vec![Outcomes { passed: 16, trials: 20 }; 40];
        for correlation in [0.0, 0.2] {
            let belief = Belief::of(&before, correlation, HALF_LIFE);
            let all = belief.chance_of_at_most(Outcomes { passed: 20, trials: 20 }, correlation);
            assert!((all - 1.0).abs() < 1e-9, "{all}");
            let chances: Vec<f64> =
                (0..=20).map(|passed| belief.chance_of_at_most(Outcomes { passed, trials: 20 }, correlation)).collect();
            assert!(chances.windows(2).all(|pair| pair[0] < pair[1]), "{chances:?}");
        }
        let alike = Belief::of(&before, 0.2, HALF_LIFE);
        let bad = Outcomes { passed: 8, trials: 20 };
        let apart = Belief::of(&before, 0.0, HALF_LIFE);
        assert!(apart.chance_of_at_most(bad, 0.0) < 0.001 && alike.chance_of_at_most(bad, 0.2) > 0.01);
    }
}
