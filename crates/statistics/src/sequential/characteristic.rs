//! How often a rule decides what, and after how many trials: exact, by adding up all ways that the trials can go.

use super::rule::{Found, Rule, Seen};

/// What a rule does at one success rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Characteristic {
    /// The chances of PASS, of FAIL, and of no decision after the most trials.
    pub pass: f64,
    pub fail: f64,
    pub undecided: f64,
    /// The mean number of trials that are consumed.
    pub mean_trials: f64,
}

/// The rule is asked after each round of `round` trials, at most `rounds` times. All trials pass with the chance `rate`.
/// Takes time with the square of the number of trials.
#[must_use]
pub fn characteristic(rule: &Rule, round: u64, rounds: u64, rate: f64) -> Characteristic {
    let mut found = Characteristic { pass: 0.0, fail: 0.0, undecided: 0.0, mean_trials: 0.0 };
    // The chance of so many passes without a decision, by their number.
    let mut open = vec![1.0];
    for trials in 1..=round * rounds {
        open.push(0.0);
        for passes in (0..open.len()).rev() {
            let before = if passes > 0 { open[passes - 1] } else { 0.0 };
            open[passes] = open[passes] * (1.0 - rate) + before * rate;
        }
        if trials % round != 0 {
            continue;
        }
        for (chance, passes) in open.iter_mut().zip(0..).filter(|(chance, _)| **chance > 0.0) {
            let sum = match rule.judge(Seen { trials, passes, failures: trials - passes }) {
                Some(Found::Pass) => &mut found.pass,
                Some(Found::Fail) => &mut found.fail,
                None => continue,
            };
            *sum += *chance;
            found.mean_trials += *chance * trials as f64;
            *chance = 0.0;
        }
    }
    found.undecided = open.iter().sum();
    found.mean_trials += found.undecided * (round * rounds) as f64;
    found
}
